"""Ctrl-C and kill -9 while figures are made: finished runs stay, nothing is corrupt, the next call goes on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from synthlab.store import Store

RUNS = 13


def start(results: Path, steps: int = 200) -> subprocess.Popen:
    command = [sys.executable, "-m", "experiments", "figure=1", "seeds=1", "workers=2", f"results={results}"]
    settings = [f"protocol.steps={steps}", "protocol.batch=8", "evaluation.sequences=8"]
    # A session of its own: signals then reach the command and its workers, as Ctrl-C in a terminal does, and not us.
    # A shell that starts the tests in the background has them ignore SIGINT; the command must not inherit that.
    return subprocess.Popen(
        [*command, *settings],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def finished(results: Path) -> set[str]:
    return set(Store(results).ids())


def wait_for(condition, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def alive_in_session(session: int) -> list[int]:
    """Processes of the session that still run, zombies aside."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def workers_of(parent: int) -> list[int]:
    """The processes of the parent's session that train."""
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in alive_in_session(parent)}
    return [pid for pid, command in commands.items() if b"popen_loky" in command]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find the workers")
@pytest.mark.parametrize("how", ["ctrl-c", "kill -9 of all", "kill -9 of the parent"])
def test_an_interrupted_figure_goes_on_where_it_was(tmp_path, how):
    process = start(tmp_path)
    wait_for(lambda: len(finished(tmp_path)) >= 3 or process.poll() is not None, seconds=90)
    assert process.poll() is None, "it finished before it could be interrupted"
    if how == "kill -9 of the parent":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGINT if how == "ctrl-c" else signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    if how == "ctrl-c":
        assert process.returncode == 130
        assert "interrupted: finished runs are kept" in errors
        assert "Traceback" not in errors
    wait_for(lambda: not alive_in_session(process.pid), seconds=60)  # no worker outlives its parent for long

    kept = finished(tmp_path)
    assert 3 <= len(kept) < RUNS
    before = {}
    for identity in kept:
        Store(tmp_path).read(identity)  # raises if it is damaged
        before[identity] = (tmp_path / "runs" / identity).stat().st_mtime_ns
    again = start(tmp_path)
    _, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    assert f"{RUNS} runs done, 0 left" in errors
    assert f"{len(kept)} runs done, {RUNS - len(kept)} left" in errors  # it did not begin anew
    assert len(finished(tmp_path)) == RUNS
    for identity, time_written in before.items():
        assert (tmp_path / "runs" / identity).stat().st_mtime_ns == time_written


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find the workers")
def test_a_killed_worker_ends_in_one_line_and_keeps_what_is_finished(tmp_path):
    process = start(tmp_path)
    wait_for(lambda: len(finished(tmp_path)) >= 2, seconds=90)
    for worker in workers_of(process.pid):
        os.kill(worker, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.splitlines()[-1].startswith("failed: a worker was killed")
    assert "Traceback" not in errors
    for identity in finished(tmp_path):
        Store(tmp_path).read(identity)
