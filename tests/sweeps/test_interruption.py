"""Kill -9, Ctrl-C, a full disk, damage: finished runs stay, and the next call ends as if nothing had been."""

import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from support.processes import needs_proc, wait_for
from synthlab.storage.store import Store

FIGURE = ["-m", "experiments", "output_alignment/figure1", "seeds=1", "protocol.steps=200"]
# One task of each family.
SWEEP = ["-m", "synthlab", "-m", "task=length,copy,text", "encoding=nope,rope", "seed=range(3)", "protocol.steps=150"]
SWEEP += ["model.width=16", "model.depth=1", "model.heads=2"]
RUNS = {"figure": 13, "sweep": 18}


def start(results: Path, what: str = "sweep", *more: str, workers: int = 2) -> subprocess.Popen:
    command = [sys.executable, *(FIGURE if what == "figure" else SWEEP), f"workers={workers}", f"results={results}"]
    settings = ["protocol.batch=8", "evaluation.sequences=8"]
    # A session of its own: signals then reach the command and its workers, as Ctrl-C in a terminal does, and not us.
    # A shell that starts the tests in the background has them ignore SIGINT; the command must not inherit that.
    return subprocess.Popen(
        [*command, *settings, *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parents[1],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def finish(*given, timeout: float = 120, **how) -> tuple[int, str]:
    """Start a command and wait for its end: its status, and what it says on the way."""
    process = start(*given, **how)
    _, errors = process.communicate(timeout=timeout)
    return process.returncode, errors


def finished(results: Path) -> set[str]:
    return set(Store(results).ids())


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


def times(results: Path) -> dict[str, dict]:
    """When and how long each recorded run trained; raises for one that is damaged."""
    return {identity: Store(results).read(identity).environment for identity in finished(results)}


def table_of(results: Path) -> pd.DataFrame:
    """The last sweep's runs, but for what each took."""
    latest = max((results / "sweeps").glob("*/*/runs.csv"), key=lambda path: path.stat().st_mtime_ns)
    return pd.read_csv(latest).drop(columns="seconds").sort_values("id", ignore_index=True)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> pd.DataFrame:
    """The table of a sweep that nobody interrupts, in one process: what is trained does not depend on how many."""
    results = tmp_path_factory.mktemp("undisturbed")
    status, errors = finish(results, workers=1, timeout=300)
    assert status == 0, errors
    return table_of(results)


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize(
    ("what", "how"),
    [("figure", "ctrl-c"), ("sweep", "ctrl-c"), ("sweep", "kill -9 of all"), ("sweep", "kill -9 of the parent")],
)
def test_an_interrupted_command_goes_on_where_it_was(tmp_path, how, what, request):
    process = start(tmp_path, what)
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
    claims = [path.name for path in tmp_path.glob("claims/*")]
    assert not any(claim.alive for claim in Store(tmp_path).claims.find(claims).values())

    kept = times(tmp_path)
    assert 3 <= len(kept) < RUNS[what]
    status, errors = finish(tmp_path, what)
    assert status == 0, errors
    assert f"{RUNS[what] - len(kept)} done, 0 failed, {len(kept)} skipped, 0 left" in errors  # it did not begin anew
    assert len(finished(tmp_path)) == RUNS[what]
    assert kept.items() <= times(tmp_path).items()
    if what == "sweep":
        pd.testing.assert_frame_equal(table_of(tmp_path), request.getfixturevalue("undisturbed"))


@pytest.mark.slow
@needs_proc
def test_a_sweep_whose_worker_is_killed_goes_on_to_the_same_end(tmp_path, undisturbed):
    process = start(tmp_path)
    wait_for(lambda: len(finished(tmp_path)) >= 2, seconds=90)
    for worker in workers_of(process.pid):
        os.kill(worker, signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert not list(tmp_path.glob("claims/*"))
    pd.testing.assert_frame_equal(table_of(tmp_path), undisturbed)


@pytest.mark.slow
@needs_proc
def test_a_run_that_kills_its_workers_is_given_up_and_takes_no_other_with_it(tmp_path):
    process = start(tmp_path, "sweep", "task=mean,support.user_classes:Deadly", "encoding=nope", "seed=0,1")
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1, errors
    assert "2 done, 2 failed, 0 skipped, 0 left" in errors
    assert len(re.findall(r"RuntimeError: its worker was killed twice, perhaps for want of memory", errors)) == 2
    assert len(finished(tmp_path)) == 2
    wait_for(lambda: not alive_in_session(process.pid), seconds=60)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 100 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", disk]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("may not mount a small disk here")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.slow
def test_a_full_disk_and_a_read_only_one_cost_no_finished_run(small_disk, undisturbed):
    status, errors = finish(small_disk)
    assert status == 1, errors
    assert errors.splitlines()[-1] == (
        f"failed: results={small_disk}: cannot be written (No space left on device); finished runs are kept, the same "
        f"command goes on from there"
    )
    kept = times(small_disk)
    assert 1 <= len(kept) < RUNS["sweep"]

    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    status, errors = finish(small_disk)
    assert status == 2
    assert errors.splitlines()[-1].startswith(f"error: results={small_disk}: cannot be written (Read-only file system)")
    collected = subprocess.run(
        [sys.executable, "-m", "synthlab.collect", small_disk, "--out", small_disk.parent / "runs.csv"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert collected.stdout.startswith(f"{len(kept)} runs: ")

    subprocess.run(["mount", "-o", "remount,rw,size=10m", small_disk], check=True)
    status, errors = finish(small_disk)
    assert status == 0, errors
    assert kept.items() <= times(small_disk).items()
    pd.testing.assert_frame_equal(table_of(small_disk), undisturbed)


PLACES = 20


@pytest.mark.slow
def test_damage_at_random_places_is_reported_and_mended_and_loses_no_other_run(invoke, quick, tmp_path):
    sweep = ["synthlab", *quick, "-m", "task=mean,length,sum", "encoding=nope,rope", "seed=range(5)", "workers=1"]
    assert invoke(*sweep).status == 0
    before, chance = table_of(tmp_path), random.Random(6)
    aside: list[Path] = []
    for _ in range(PLACES):
        path = chance.choice(sorted(tmp_path.glob("runs/*.parquet")))
        damage(path, chance)
        others = {identity: Store(tmp_path).read(identity).environment for identity in Store(tmp_path).ids()
                  if str(path) != Store(tmp_path).path(identity)}  # fmt: skip
        swept = invoke(*sweep)
        assert swept.status == 0, swept.err
        before_this, aside = aside, list(tmp_path.glob("damaged/*"))
        assert swept.err.count("a damaged file, set aside") == len(aside) - len(before_this)
        assert others.items() <= times(tmp_path).items()
        pd.testing.assert_frame_equal(table_of(tmp_path), before)
    assert len(aside) > PLACES / 2  # a flipped bit may change nothing, such as one of a hint to readers


def damage(path: Path, chance: random.Random) -> None:
    """Cut a file short, or flip one of its bits."""
    data = path.read_bytes()
    at = chance.randrange(len(data))
    flipped = data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
    path.write_bytes(chance.choice([data[:at], flipped]))
