"""Nobody trains what another trains, and what a dead one trained is taken over."""

import json
import os
import subprocess
import sys
import time

import pytest

from support.processes import wait_for
from synthlab.storage import leases
from synthlab.storage.files import files_at
from synthlab.storage.leases import FOLDER, HEARTBEATS, Holder, Leases, release_all

RUN, OTHER = "0" * 16, "1" * 16


@pytest.fixture(params=["folder", "object store"])
def taken(request, tmp_path):
    return Leases(files_at(tmp_path if request.param == "folder" else f"file://{tmp_path}/store"))


def dead(taken: Leases, identity: str = RUN, number: int = 0, machine: str | None = None) -> Holder:
    """Leave a lease as a killed process leaves it: of this machine, or of another that was silent for a while."""
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    holder = Holder(machine or leases._machine(), child.pid, "12345", os.getpid(), "token")
    lease = {"holder": holder.__dict__}
    sign = {"holder": holder.__dict__, "runs": [identity], "share": 0.9}
    taken.files.write(f"{FOLDER}/{identity}.{number}", json.dumps(lease).encode())
    taken.files.write(f"{HEARTBEATS}/{holder.name}", json.dumps(sign).encode())
    return holder


def test_a_lease_is_held_by_one_until_it_is_given_up(taken):
    with taken.hold([RUN, OTHER]) as first:
        assert list(first.numbers) == [RUN, OTHER]
        assert {lease.alive for lease in taken.find_latest().values()} == {True}
        with taken.hold([RUN]) as second:
            assert not second.numbers
    assert taken.find_latest() == {}
    assert taken.files.names(HEARTBEATS) == []
    with taken.hold([RUN]) as third:
        assert list(third.numbers) == [RUN]


def test_leases_are_given_up_when_work_fails(taken):
    with pytest.raises(KeyboardInterrupt), taken.hold([RUN]):
        raise KeyboardInterrupt
    assert taken.find_latest() == {}


def test_a_dead_holders_lease_is_taken_over(taken):
    dead(taken)
    assert taken.find_latest()[RUN] == (0, False)
    with taken.hold([RUN]) as held:
        assert list(held.numbers) == [RUN]
        assert taken.find_latest()[RUN] == (1, True)
    assert taken.find_latest() == {}


def test_a_sleeping_holder_on_this_machine_keeps_its_leases(tmp_path):
    taken = Leases(files_at(tmp_path))
    with taken.hold([RUN]):
        for path in (tmp_path / HEARTBEATS).iterdir():
            os.utime(path, (0, 0))
        assert taken.find_latest()[RUN].alive
        with taken.hold([RUN]) as second:
            assert not second.numbers
        assert taken.find_latest()[RUN].alive


def test_a_holder_elsewhere_is_dead_once_it_has_been_silent_for_long(tmp_path):
    taken = Leases(files_at(tmp_path))
    holder = dead(taken, machine="elsewhere")
    assert taken.find_latest()[RUN].alive
    old = time.time() - leases.SILENT - 5
    os.utime(tmp_path / HEARTBEATS / holder.name, (old, old))
    assert not taken.find_latest()[RUN].alive


def test_a_lease_without_a_readable_holder_lives_until_it_is_old(tmp_path):
    taken = Leases(files_at(tmp_path))
    taken.files.write(f"{FOLDER}/{RUN}.0", b"")
    assert taken.find_latest()[RUN].alive
    os.utime(tmp_path / FOLDER / f"{RUN}.0", (0, 0))
    assert not taken.find_latest()[RUN].alive


def test_a_process_with_a_dead_ones_number_is_another(taken):
    me = Holder.myself()
    assert not me.is_gone()
    assert Holder(me.machine, me.pid, "some other time", me.parent, "x").is_gone()
    assert not Holder("elsewhere", me.pid, "some other time", me.parent, "x").is_gone()


def test_a_holder_whose_name_leads_elsewhere_removes_nothing_there(tmp_path):
    taken, victim = Leases(files_at(tmp_path / "store")), tmp_path / "victim"
    victim.mkdir()
    me = Holder(leases._machine(), 1, "12345", os.getpid(), "x/../../../../victim")
    (tmp_path / "store" / HEARTBEATS / f"{me.machine}-1-x").mkdir(parents=True)
    taken.files.write(f"{FOLDER}/{RUN}.0", json.dumps({"holder": me.__dict__}).encode())
    taken.release(os.getpid())
    assert victim.exists()


def test_a_holder_tells_how_far_it_is(taken, monkeypatch):
    monkeypatch.setattr(leases, "RENEWED", 0.01)
    with taken.hold([RUN, OTHER]) as held:
        held.share = 0.5
        # Whoever reads a sign while it is being renewed may find it empty, and counts nothing: so each is waited for.
        wait_for(lambda: taken.share({RUN, OTHER}) == 1.0)
        wait_for(lambda: taken.share({RUN}) == 0.5)
        assert taken.share({"2" * 16}) == 0.0
    assert taken.share({RUN, OTHER}) == 0.0


def test_workers_that_were_told_to_stop_hold_nothing_more(taken):
    dead(taken)
    taken.release(os.getpid() + 1)
    assert RUN in taken.find_latest()
    taken.release(os.getpid())
    assert taken.find_latest() == {}


def test_leases_of_recorded_runs_are_tidied_away_and_no_others(taken):
    dead(taken)
    for number in (0, 1):  # taken over, and dead again
        dead(taken, OTHER, number)
    assert taken.find_latest()[OTHER] == (1, False)
    taken.tidy({OTHER})
    assert set(taken.find_latest()) == {RUN}
    assert not [name for name in taken.files.names(FOLDER) if name.startswith(OTHER)]
    assert taken.share({RUN}) == 0.0  # what the dead had done does not count
    with taken.hold([RUN]):
        taken.tidy({RUN})
        assert taken.find_latest()[RUN].alive


def test_a_process_that_is_about_to_end_can_let_go(taken):
    with taken.hold([RUN]):
        release_all()
        assert taken.find_latest() == {}
