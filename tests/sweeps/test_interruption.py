"""Kill -9, Ctrl-C, a full disk, damage: finished runs stay, and the next call ends as if nothing had been."""

import os
import random
import re
import signal
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from support.processes import finish, needs_proc, start, wait_for
from synthlab.storage.store import Store

SHORT = ["protocol.batch=8", "evaluation.sequences=8"]
FIGURE = ["experiments", "output_alignment/figure1", "seeds=1", "protocol.steps=200", "workers=2", *SHORT]
# One task of each family.
SWEEP = ["synthlab", "-m", "task=length,copy,text", "encoding=nope,rope", "seed=range(3)", "protocol.steps=150"]
SWEEP += ["model.width=16", "model.depth=1", "model.heads=2", "workers=2", *SHORT]
RUNS = {"experiments": 13, "synthlab": 18}


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


def times(results: Path) -> dict[str, dict]:
    """When and how long each recorded run trained; raises for one that is damaged."""
    return {identity: Store(results).read(identity).environment for identity in Store(results).ids()}


def table_of(results: Path) -> pd.DataFrame:
    """The last sweep's runs, but for what each took."""
    latest = max((results / "sweeps").glob("*/*/runs.csv"), key=lambda path: path.stat().st_mtime_ns)
    return pd.read_csv(latest).drop(columns="seconds").sort_values("id", ignore_index=True)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> pd.DataFrame:
    """The table of a sweep that nobody interrupts, in one process: what is trained does not depend on how many."""
    results = tmp_path_factory.mktemp("undisturbed")
    done = finish(*SWEEP, "workers=1", f"results={results}")
    assert done.returncode == 0, done.stderr
    return table_of(results)


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize(
    ("command", "how"),
    [(FIGURE, "ctrl-c"), (SWEEP, "ctrl-c"), (SWEEP, "kill -9 of all"), (SWEEP, "kill -9 of the parent")],
    ids=lambda given: given if isinstance(given, str) else given[0],
)
def test_an_interrupted_command_goes_on_where_it_was(tmp_path, command, how, request):
    process, runs = start(*command, f"results={tmp_path}"), RUNS[command[0]]
    wait_for(lambda: len(Store(tmp_path).ids()) >= 3 or process.poll() is not None)
    assert process.poll() is None, "it finished before it could be interrupted"
    if how == "kill -9 of the parent":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGINT if how == "ctrl-c" else signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    if how == "ctrl-c":
        assert process.returncode == 130, errors
        assert "interrupted: finished runs are kept" in errors
        assert "Traceback" not in errors
    wait_for(lambda: not alive_in_session(process.pid))  # no worker outlives its parent for long
    leases = [path.name for path in tmp_path.glob("leases/*")]
    assert not any(lease.alive for lease in Store(tmp_path).leases.find(leases).values())

    kept = times(tmp_path)
    done = finish(*command, f"results={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert f"{runs - len(kept)} done, 0 failed, {len(kept)} skipped, 0 left" in done.stderr  # it did not begin anew
    assert kept.items() < times(tmp_path).items()
    if command is SWEEP:
        pd.testing.assert_frame_equal(table_of(tmp_path), request.getfixturevalue("undisturbed"))


@pytest.mark.slow
@needs_proc
def test_a_sweep_whose_worker_is_killed_goes_on_to_the_same_end(tmp_path, undisturbed):
    process = start(*SWEEP, f"results={tmp_path}")
    wait_for(lambda: len(Store(tmp_path).ids()) >= 2)
    for pid in alive_in_session(process.pid):
        if b"popen_loky" in Path(f"/proc/{pid}/cmdline").read_bytes():  # it trains
            os.kill(pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert not list(tmp_path.glob("leases/*"))
    pd.testing.assert_frame_equal(table_of(tmp_path), undisturbed)


@pytest.mark.slow
@needs_proc
def test_a_run_that_kills_its_workers_is_given_up_and_takes_no_other_with_it(tmp_path):
    deadly = ["task=mean,support.user_classes:Deadly", "encoding=nope", "seed=0,1"]
    done = finish(*SWEEP, *deadly, f"results={tmp_path}")
    assert done.returncode == 1, done.stderr
    assert "2 done, 2 failed, 0 skipped, 0 left" in done.stderr
    assert len(re.findall(r"RuntimeError: its worker was killed twice, perhaps for want of memory", done.stderr)) == 2
    assert len(Store(tmp_path).ids()) == 2


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
    command = [*SWEEP, f"results={small_disk}"]
    done = finish(*command)
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"failed: results={small_disk}: cannot be written (No space left on device); finished runs are kept, the same "
        f"command goes on from there"
    )
    kept = times(small_disk)
    assert 1 <= len(kept) < RUNS["synthlab"]

    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    done = finish(*command)
    line = f"error: results={small_disk}: cannot be written (Read-only file system)"
    assert (done.returncode, done.stderr.splitlines()[-1].startswith(line)) == (2, True)
    collected = finish("synthlab.collect", small_disk, "--out", small_disk.parent / "runs.csv")
    assert collected.stdout.startswith(f"{len(kept)} runs: ")

    subprocess.run(["mount", "-o", "remount,rw,size=10m", small_disk], check=True)
    done = finish(*command)
    assert done.returncode == 0, done.stderr
    assert kept.items() <= times(small_disk).items()
    pd.testing.assert_frame_equal(table_of(small_disk), undisturbed)


PLACES = 20


@pytest.mark.slow
def test_damage_at_random_places_is_reported_and_mended_and_loses_no_other_run(invoke, quick, tmp_path):
    sweep = ["synthlab", *quick, "-m", "task=mean,length,sum", "encoding=nope,rope", "seed=range(5)", "workers=1"]
    assert invoke(*sweep).status == 0
    before, chance, aside = table_of(tmp_path), random.Random(6), 0
    for _ in range(PLACES):
        path = chance.choice(sorted(tmp_path.glob("runs/*.parquet")))
        others = {identity: about for identity, about in times(tmp_path).items()
                  if str(path) != Store(tmp_path).path(identity)}  # fmt: skip
        data = path.read_bytes()
        at = chance.randrange(len(data))
        flipped = data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
        path.write_bytes(chance.choice([data[:at], flipped]))
        swept = invoke(*sweep)
        assert swept.status == 0, swept.err
        before_this, aside = aside, len(list(tmp_path.glob("damaged/*")))
        assert swept.err.count("a damaged file, set aside") == aside - before_this
        assert others.items() <= times(tmp_path).items()
        pd.testing.assert_frame_equal(table_of(tmp_path), before)
    assert aside > PLACES / 2  # a flipped bit may change nothing, such as one of a hint to readers
