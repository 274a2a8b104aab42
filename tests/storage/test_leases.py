"""Leases: of all processes one trains a run, and what a dead one held is free."""

import os
import subprocess
import sys

import pytest

from support.processes import at_once
from synthlab.storage import leases as module
from synthlab.storage.files import Folder
from synthlab.storage.leases import Leases

RUN = "0123456789abcdef"


def leases(results) -> Leases:
    return Leases(Folder(results))


def test_of_many_one_holds_a_run_until_it_lets_go(tmp_path):
    held = []

    def take():
        with leases(tmp_path).hold([RUN]) as mine:
            held.append(mine)
            while len(held) < 8:
                pass

    at_once([take] * 8)
    assert sorted(map(len, held)) == [0] * 7 + [1]
    assert leases(tmp_path).find({RUN}) == {}


def test_a_lease_tells_how_far_its_process_is(tmp_path):
    held = leases(tmp_path)
    with held.hold([RUN]) as mine:
        assert held.find({RUN, "f" * 16}) == {RUN: (True, 0.0)}
        held.renew(mine, 0.25)
        assert held.find({RUN}) == {RUN: (True, 0.25)}
        assert held.find({"f" * 16}) == {}
    assert not list(tmp_path.glob("leases/*"))


DYING = "import os, sys; from synthlab.storage.store import Store;"
DYING += "held = Store(sys.argv[1]).leases.hold([sys.argv[2]]); held.__enter__(); os.kill(os.getpid(), 9)"


def test_the_lease_of_a_killed_process_is_dead_and_one_process_takes_it(tmp_path):
    subprocess.run([sys.executable, "-c", DYING, tmp_path, RUN], check=False)
    assert leases(tmp_path).find({RUN}) == {RUN: (False, 0.0)}
    held = []
    with leases(tmp_path).hold([RUN]) as mine:
        held += mine
        assert leases(tmp_path).find({RUN})[RUN].alive
        with leases(tmp_path).hold([RUN]) as none:
            assert none == []
    assert held == [RUN]
    assert not list(tmp_path.glob("leases/*"))


@pytest.mark.parametrize("content", ["elsewhere 1 1 0.500\n", "", "\0" * 100])
def test_another_machine_is_dead_when_it_was_silent_for_long(tmp_path, content):
    path = tmp_path / "leases" / RUN
    path.parent.mkdir()
    path.write_text(content)
    assert leases(tmp_path).find({RUN})[RUN].alive
    os.utime(path, (0, path.stat().st_mtime - module.LEASE_SECONDS - 1))
    assert not leases(tmp_path).find({RUN})[RUN].alive


def test_in_an_object_store_all_runs_are_free():
    held = leases("memory://leases")
    with held.hold([RUN]) as mine:
        assert (mine, held.find({RUN})) == ([RUN], {})
