"""Leases: of all processes one trains a run, and what a dead one held is free."""

import os
import subprocess
import sys

import pytest

from support.processes import at_once
from synthlab.storage import leases as module
from synthlab.storage.leases import Leases, release_all

RUN = "0123456789abcdef"


def test_of_many_one_holds_a_run_until_it_lets_go(tmp_path):
    held = []

    def take():
        with Leases(tmp_path).hold([RUN]) as mine:
            held.append(mine)
            while len(held) < 8:
                pass

    at_once([take] * 8)
    assert sorted(map(len, held)) == [0] * 7 + [1]
    assert Leases(tmp_path).find({RUN}) == {}


def test_a_claim_tells_how_far_its_process_is(tmp_path):
    leases = Leases(tmp_path)
    with leases.hold([RUN]) as mine:
        assert leases.find({RUN, "f" * 16}) == {RUN: (True, 0.0)}
        leases.renew(mine, 0.25)
        assert leases.find({RUN}) == {RUN: (True, 0.25)}
        assert leases.find({"f" * 16}) == {}
    assert not list(tmp_path.iterdir())


DYING = "import sys; from pathlib import Path; from synthlab.storage.leases import Leases;"
DYING += "import os; held = Leases(Path(sys.argv[1])).hold([sys.argv[2]]); held.__enter__(); os.kill(os.getpid(), 9)"


def test_the_claim_of_a_killed_process_is_dead_and_one_process_takes_it(tmp_path):
    subprocess.run([sys.executable, "-c", DYING, tmp_path, RUN], check=False)
    assert Leases(tmp_path).find({RUN}) == {RUN: (False, 0.0)}
    held = []
    with Leases(tmp_path).hold([RUN]) as mine:
        held += mine
        assert Leases(tmp_path).find({RUN})[RUN].alive
        with Leases(tmp_path).hold([RUN]) as none:
            assert none == []
    assert held == [RUN]
    subprocess.run([sys.executable, "-c", DYING, tmp_path, RUN], check=False)
    Leases(tmp_path).clear({RUN})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["elsewhere 1 1 0.500\n", "", "\0" * 100])
def test_another_machine_is_dead_when_it_was_silent_for_long(tmp_path, content):
    path = tmp_path / RUN
    path.write_text(content)
    assert Leases(tmp_path).find({RUN})[RUN].alive
    os.utime(path, (0, path.stat().st_mtime - module.SILENT - 1))
    assert not Leases(tmp_path).find({RUN})[RUN].alive


def test_a_process_that_ends_lets_go_of_all_and_where_there_are_no_claims_runs_are_free(tmp_path):
    held = Leases(tmp_path).hold([RUN, "f" * 16])
    assert len(held.__enter__()) == 2
    release_all()
    assert not list(tmp_path.iterdir())
    with Leases(None).hold([RUN]) as mine:  # of an object store
        assert (mine, Leases(None).find({RUN})) == ([RUN], {})
