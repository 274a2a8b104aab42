"""A full, a gone and a closed standard output: they cost what would have been printed, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.configs import QUICK
from synthlab.config.composition import to_overrides
from synthlab.output import say, tell

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def gone():
    """A stream whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    return open(writer, "w")


def full():
    """A stream on a full disk."""
    return open("/dev/full", "w")


LOST = [pytest.param(gone, id="gone"), pytest.param(full, id="full", marks=needs_full)]


@pytest.mark.parametrize("make", LOST)
def test_what_nobody_can_read_is_dropped(make, monkeypatch):
    with make() as out, make() as err:
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        for _ in range(2):
            say("a line", "another")
            tell("a line")


@needs_full
@pytest.mark.parametrize("arguments", [["--help"], ["--cfg", "job"], ["task=sum"], ["-m", "task=sum,mean"]])
def test_a_full_disk_costs_no_status(invoke, quick, monkeypatch, arguments):
    with full() as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert invoke("synthlab", *quick, *arguments).status == 0


@pytest.mark.slow
def test_workers_train_though_streams_are_closed(tmp_path):
    def close():
        for number in range(3):
            os.close(number)

    given = [*to_overrides(QUICK), f"results={tmp_path}", "task=mean,sum", "train_length=4,5", "workers=2"]
    command = [sys.executable, "-m", "synthlab", "-m", *given]
    assert subprocess.run(command, preexec_fn=close, timeout=120, check=False).returncode == 0
    assert len(list((tmp_path / "runs").iterdir())) == 4
