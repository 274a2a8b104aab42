"""Folder and object store alike: whatever a store relies on."""

import errno
import os
import secrets
from pathlib import Path

import pytest

import synthlab
from support.configs import QUICK
from support.processes import at_once
from synthlab.errors import InputError, StoreError
from synthlab.storage.files import Folder, files_at, write_whole
from synthlab.storage.leases import Leases
from synthlab.storage.objects import Objects
from synthlab.storage.store import Store

GROUP = {"a.csv": b"1", "b.csv": b"2", "status.json": b"{}"}


@pytest.fixture(params=["folder", "memory", "file", pytest.param("s3", marks=pytest.mark.slow)])
def files(request, tmp_path):
    if request.param == "s3":
        return files_at(f"{request.getfixturevalue('s3')}/r")
    memory, file = f"memory://{secrets.token_hex(4)}/r", f"file://{tmp_path}/r"
    return files_at({"folder": str(tmp_path), "memory": memory, "file": file}[request.param])


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


@pytest.mark.parametrize("where", ["tmp_path", pytest.param("s3", marks=pytest.mark.slow)])  # others do it in two steps
def test_of_many_who_create_a_file_at_once_one_succeeds(where, request):
    files = files_at(str(request.getfixturevalue(where)))
    contents = [str(number).encode() for number in range(8)]
    won = at_once([lambda data=data: files.create("leases/x.0", data) for data in contents])
    assert won.count(True) == 1
    assert files.read("leases/x.0") == contents[won.index(True)]
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
    assert not [name for name in files.names("runs") if name.startswith(".partial")]
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


def test_an_interrupted_upload_is_no_record():
    files = Objects(f"memory://{secrets.token_hex(4)}")
    files.write("runs/x/a.csv", b"1")
    assert not files.holds_group("runs/x", "status.json")
    assert files.groups("runs", "status.json") == []


ELSEWHERE = ["nowhere://x", "S3://bucket/y", "ftp://127.0.0.1/x", "github://me:repo@main/x", "https://example.com/x"]
CHAINED = [
    "zip://x::",
    "zip://x::memory://y",
    "simplecache::s3://bucket/y",
    "s3://bucket::y",
    "://x",
    "s3://",
    "s3:///",
]


@pytest.mark.parametrize("address", [*ELSEWHERE, *CHAINED, "data://x", "dir://x", "generic://x", "reference://x"])
def test_an_address_of_another_kind_is_refused_before_anything_is_asked(address, monkeypatch):
    monkeypatch.setattr("fsspec.core.url_to_fs", lambda *_: pytest.fail("fsspec was asked"))
    with pytest.raises(InputError) as refused:
        files_at(address)
    places = "s3://, gs://, gcs://, az://, abfs://, file://, local:// or memory://"
    assert str(refused.value) == f"results={address}: must be a folder, or a place after {places}"


def test_an_address_whose_package_is_missing_is_refused(monkeypatch):
    def missing(address):
        raise ImportError("Install s3fs\nto access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(InputError, match=r"^results=s3://bucket/x: cannot be reached \(Install s3fs to access S3\)$"):
        files_at("s3://bucket/x")


@pytest.fixture
def looped(tmp_path) -> str:
    """A folder that is a loop of two symbolic links."""
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    return str(tmp_path / "one")


def test_a_path_that_can_lead_nowhere_is_refused(tmp_path, looped):
    for path, reason in ((looped, "Too many"), (f"{looped}/x", "Too many"), (f"{tmp_path}/{'x' * 300}", "too long")):
        with pytest.raises(InputError, match=rf"^results={path}: cannot be read \(.*{reason}.*\); give a folder$"):
            files_at(path)
    with pytest.raises(InputError, match="null"):
        files_at("a\0b")


def test_a_store_that_cannot_be_listed_says_so(tmp_path, looped):
    for folder in ("runs", "leases"):
        (tmp_path / folder).symlink_to(looped)
    store = Store(tmp_path)
    for look in (
        lambda: list(store.ids()),
        Leases(store.files).find_latest,
        Leases(Objects(f"file://{tmp_path}")).find_latest,
    ):
        with pytest.raises(StoreError, match=rf"^results=(file://)?{tmp_path}: cannot be read \(.*Too many.*\)$"):
            look()


def test_what_a_library_of_an_object_store_raises_is_an_oserror(monkeypatch):
    class NoCredentials(Exception):
        pass

    def refuse(*_, **__):
        raise NoCredentials("Unable to locate credentials")

    files = Objects(f"memory://{secrets.token_hex(4)}")
    monkeypatch.setattr(type(files.system._system), "cat_file", refuse)
    with pytest.raises(OSError, match="NoCredentials: Unable to locate credentials"):
        files.read("x")


def test_memory_serves_one_process():
    address = f"memory://{secrets.token_hex(4)}"
    with pytest.raises(InputError, match=f"results={address}: is seen by no other process; give a folder, or workers"):
        synthlab.run(**QUICK, seeds=2, results=address, workers=2, progress=False)
    assert len(synthlab.run(**QUICK, seeds=2, results=address, progress=False)) == 2


NOTHING_KEPT = "is lost when the command ends; give a folder"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("synthlab", NOTHING_KEPT),
        ("synthlab -m seed=0,1", NOTHING_KEPT),
        ("experiments output_alignment/1", "must be a folder of this machine here"),
        ("theory", "must be a folder of this machine here"),
    ],
)
def test_a_command_refuses_memory_of_which_nothing_would_be_left(invoke, command, reason):
    outcome = invoke(*command.split(), "results=memory://x")
    assert (outcome.status, outcome.err) == (2, f"error: results=memory://x: {reason}\n")


def test_write_whole_leaves_the_old_text_where_it_fails(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    write_whole(path, "old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(OSError, match="full"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["table.csv"]


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    done, replace = [], Path.replace
    monkeypatch.setattr(os, "fsync", lambda _: done.append("flushed"))
    monkeypatch.setattr(Path, "replace", lambda *paths: (done.append("renamed"), replace(*paths))[1])
    Folder(tmp_path).write("x", b"1")
    assert done == ["flushed", "renamed"]
