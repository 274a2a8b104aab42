"""Folder and object store alike: whatever a store relies on."""

import errno
import os
import pickle
import secrets
import threading

import pytest

from synthlab.errors import InputError
from synthlab.files import Folder, Objects, files_at, write_whole

GROUP = {"a.csv": b"1", "b.csv": b"2", "status.json": b"{}"}


@pytest.fixture(params=["folder", "memory", "file"])
def files(request, tmp_path):
    addresses = {
        "folder": str(tmp_path),
        "memory": f"memory://{secrets.token_hex(4)}/r",
        "file": f"file://{tmp_path}/r",
    }
    return files_at(addresses[request.param])


def test_a_file_comes_back_and_is_written_over_whole(files):
    files.write("runs/x", b"one")
    files.write("runs/x", b"two")
    assert files.read("runs/x") == b"two"
    assert files.names("runs") == ["x"]
    assert files.names("nowhere") == []
    assert files.modified("runs/x") is not None
    assert files.modified("runs/y") is None
    with pytest.raises(FileNotFoundError):
        files.read("runs/y")
    assert files.exists()


def test_a_file_is_created_once(files):
    assert files.create("leases/x.0", b"1")
    assert not files.create("leases/x.0", b"2")
    assert files.read("leases/x.0") == b"1"
    assert files.names("leases") == ["x.0"]


# Of object stores it is their own business: Amazon's and Google's do it in one step, fsspec's memory and files do not.
def test_of_many_who_create_a_file_at_once_one_succeeds(tmp_path):
    files = Folder(tmp_path)
    won, start = [], threading.Barrier(8)

    def create(number):
        start.wait()
        if files.create("leases/x.0", str(number).encode()):
            won.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert files.read("leases/x.0") == str(won[0]).encode()
    assert files.names("leases") == ["x.0"]


def test_a_file_system_without_links_creates_all_the_same(tmp_path, monkeypatch):
    def no_links(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    files = Folder(tmp_path)
    assert files.create("x", b"1")
    assert not files.create("x", b"2")
    assert files.names("") == ["x"]
    assert files.read("x") == b"1"


def test_a_group_is_complete_or_not_there(files):
    assert not files.holds_group("runs/x", "status.json")
    files.write_group("runs/x", GROUP)
    assert files.holds_group("runs/x", "status.json")
    assert files.groups("runs", "status.json") == ["x"]
    files.write_group("runs/x", dict.fromkeys(GROUP, b"other"))  # stays as it is
    assert {name: files.read(f"runs/x/{name}") for name in files.names("runs/x")} == GROUP
    files.move("runs/x", "damaged/x-1")
    assert not files.holds_group("runs/x", "status.json")
    assert files.groups("damaged", "status.json") == ["x-1"]
    files.remove("damaged/x-1")
    files.remove("damaged/x-1")
    assert files.groups("damaged", "status.json") == []
    assert files.groups("nowhere", "status.json") == []


def test_a_group_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    synced = []

    def full(descriptor):
        synced.append(descriptor)
        if len(synced) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    files = Folder(tmp_path)
    with pytest.raises(OSError, match="No space left"):
        files.write_group("runs/x", GROUP)
    assert files.names("runs") == []


def test_files_are_pickled_by_their_address(files):
    files.write("x", b"1")
    again = pickle.loads(pickle.dumps(files))
    assert again.read("x") == b"1"
    assert again.path("x") == files.path("x")


def test_an_interrupted_upload_is_no_record():
    files = Objects(f"memory://{secrets.token_hex(4)}")
    files.write("runs/x/a.csv", b"1")
    assert not files.holds_group("runs/x", "status.json")
    assert files.groups("runs", "status.json") == []


@pytest.mark.parametrize("address", ["nowhere://x", "s3x://bucket/y"])
def test_an_address_of_an_unknown_kind_is_refused(address):
    with pytest.raises(InputError, match=f"results={address}: cannot be reached"):
        files_at(address)


def test_write_whole_leaves_the_old_text_where_it_fails(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    write_whole(path, "old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(OSError, match="full"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["table.csv"]
