"""Records in a folder or an object store: exact, whole, found again, and every damage noticed."""

import errno
import logging
import os
import pickle
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.local import LocalFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import synthlab
from support.configs import QUICK
from support.processes import at_once
from support.records import CONFIG, final_weights, made_weights, record, unmeasured, with_weights
from synthlab import load_records
from synthlab.errors import DamagedRecord, InputError, OlderRecord, StoreError
from synthlab.numbers.run import NumbersRun
from synthlab.storage.files import checksum, write_whole
from synthlab.storage.records import Failure, Record
from synthlab.storage.store import Store


def same(a: Record, b: Record) -> bool:
    """Whether two records have the same content, to the last bit."""
    tables = [(a.metrics, b.metrics), (a.training, b.training), (a.outputs, b.outputs)]
    frames = all(one is two is None or one.equals(two.astype(one.dtypes)) for one, two in tables)
    return frames and (a.config, a.diverged_at, a.environment) == (b.config, b.diverged_at, b.environment)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[None]:
    """Amazon's S3 on this machine, by moto; this process and those that it starts find it by their environment."""
    for package in ("s3fs", "moto", "flask", "flask_cors"):
        pytest.importorskip(package, reason="needs the extras s3 and s3-server")
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "test")
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "HTTP_PROXY", "http_proxy"):
            patch.delenv(name, raising=False)
        yield
    server.shutdown()


@pytest.fixture
def s3(s3_server) -> str:
    """The address of an empty bucket."""
    import s3fs

    bucket = f"lab-{secrets.token_hex(8)}"
    s3fs.S3FileSystem().mkdir(bucket)
    return f"s3://{bucket}"


@pytest.fixture(params=["folder", "memory", "file", pytest.param("s3", marks=pytest.mark.slow)])
def store(request, tmp_path) -> Store:
    if request.param == "s3":
        return Store(f"{request.getfixturevalue('s3')}/r")
    places = {"folder": tmp_path / "r", "memory": f"memory://{secrets.token_hex(4)}/r", "file": f"file://{tmp_path}/r"}
    return Store(places[request.param])


def test_records_come_back_as_they_were_each_once(store):
    kept = [record(0), unmeasured(1), record(2, diverged_at=3), record(3, encoding={"name": "rope", "base": 100.0})]
    store.write(*kept)
    store.write(record(0), record(4))  # of which one is there
    assert store.ids() == sorted([*(each.config.id for each in kept), record(4).config.id])
    assert all(same(store.read(each.config.id), each) for each in kept)
    two = [each.config.id for each in kept[:2]]
    assert {each.config.id for each in store.read_all([*two, "0" * 16])} == {*two}
    assert len(list(store.read_all())) == 5
    assert not store.is_recorded(CONFIG.with_seeds({"seed": 7}))
    with pytest.raises(InputError, match="there is no such record: 0123456789abcdef"):
        store.read("0123456789abcdef")


floats = nps.arrays(np.float64, 12, elements=st.floats(allow_subnormal=True))


@settings(max_examples=30)
@given(numbers=floats, seed=st.integers(0, 2**63 - 1))
def test_every_number_is_exact(numbers, seed):
    store, kept = Store(f"memory://{secrets.token_hex(8)}"), record(seed)
    metrics = kept.metrics.assign(mse=numbers, bias=-numbers)
    kept = replace(kept, metrics=metrics, outputs=pd.DataFrame({"zero": numbers[:2]}))
    store.write(kept)
    read = store.read(kept.config.id)
    for name in metrics:
        assert read.metrics[name].to_numpy().tobytes() == metrics[name].to_numpy().tobytes()
    assert read.outputs["zero"].to_numpy().tobytes() == numbers[:2].tobytes()
    assert read.config == kept.config


def test_pandas_reads_a_file_without_the_lab(tmp_path):
    kept = record()
    Store(tmp_path).write(kept)
    (row,) = pd.concat(map(pd.read_parquet, tmp_path.glob("runs/*.parquet"))).to_dict("records")
    assert (row["id"], row["seed"], row["status"]) == (kept.config.id, 0, "finished")
    assert list(row["metrics"]["mse"]) == list(kept.metrics["mse"])


@settings(max_examples=75)
@given(data=st.data())
def test_damage_anywhere_is_noticed_or_changes_nothing(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("store")
    kept = [with_weights(record(seed), made_weights(seed)) for seed in range(3)]
    Store(folder).write(*kept)
    (path,) = folder.glob(data.draw(st.sampled_from(["runs/*.parquet", "weights/*.safetensors"])))
    whole = path.read_bytes()
    at = int(data.draw(st.floats(0, 1, exclude_max=True)) * len(whole))
    flipped = whole[:at] + bytes([whole[at] ^ 1 << data.draw(st.integers(0, 7))]) + whole[at + 1 :]
    path.write_bytes(flipped if data.draw(st.booleans()) else whole[:at])
    store = Store(folder)
    for each in kept:
        try:
            read = store.read(each.config.id)
            assert same(read, each)
            assert final_weights(read) == final_weights(each)
        except DamagedRecord as error:
            assert str(path) in str(error)
            assert len(error.lines) == 1
    shutil.rmtree(folder)


def test_a_damaged_file_is_reported_left_out_and_set_aside(tmp_path):
    for seeds in ((0, 1), (2, 3)):
        Store(tmp_path).write(*map(record, seeds))
    path = min(tmp_path.glob("runs/*.parquet"))
    data = path.read_bytes()
    path.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    sound = {record(seed).config.id for seed in (2, 3)}
    store = Store(tmp_path)
    assert {each.config.id for each in store.read_all()} == sound
    with pytest.warns(UserWarning, match=f"^1 damaged files are left out: {path}: damaged"):
        assert set(load_records(tmp_path)["id"]) == sound
    assert store.set_aside(f"runs/{path.name}") == f"{tmp_path}/damaged/{path.name}"
    assert set(Store(tmp_path).ids()) == sound
    assert not path.exists()


def test_several_may_write_at_once(tmp_path):
    def work(first):
        for seed in range(first, first + 10):
            Store(tmp_path).write(record(seed))

    at_once([partial(work, first) for first in (0, 5, 10)])
    assert len(list(Store(tmp_path).read_all())) == 20


KILLED = """
import os, signal, sys
from support.records import record
from synthlab.storage import files
from synthlab.storage.store import Store

def die(descriptor):
    os.kill(os.getpid(), signal.SIGKILL)

Store(sys.argv[1]).write(record(0))
files.os.fsync = die
Store(sys.argv[1]).write(record(1))
"""


def test_a_process_that_is_killed_while_it_writes_leaves_nothing_half(tmp_path):
    where = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parents[1])])}
    assert subprocess.run([sys.executable, "-c", KILLED, tmp_path], env=where, check=False).returncode == -9
    assert Store(tmp_path).ids() == [record(0).config.id]
    assert [each.config for each in Store(tmp_path).read_all()] == [record(0).config]


def test_a_full_disk_leaves_the_old_content_and_no_rest(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.write(record(0))

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=rf"^results={tmp_path}: cannot be written \(No space left on device\)$"):
        store.write(record(1))
    with pytest.raises(OSError, match="No space"):
        write_whole(tmp_path / "table.csv", "new")
    assert store.ids() == [record(0).config.id]
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_an_error_of_the_disk_is_no_damage(tmp_path, monkeypatch):
    Store(tmp_path).write(record())

    def broken(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(LocalFileSystem, "open", broken)
    monkeypatch.setattr(LocalFileSystem, "cat_file", broken)
    store = Store(tmp_path)
    with pytest.raises(StoreError, match="cannot be read .Input/output error."):
        store.ids()
    assert not store.damaged


def test_records_of_another_version_and_strange_files_are_passed_over(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.write(record(0))
    (tmp_path / "runs" / "notes.txt").write_text("mine")
    assert len(load_records(tmp_path)) == CONFIG.test_length
    identity = record(0).config.id
    monkeypatch.setattr(NumbersRun, "results_version", 99)
    assert list(store.read_all()) == []
    assert load_records(tmp_path).empty
    with pytest.raises(OlderRecord, match="is of results version 4; the present one is 99"):
        store.read(identity)


def test_a_failure_comes_back_and_one_that_is_damaged_says_so(store):
    failure = Failure.from_error(CONFIG, ValueError("no\n good \udc80"), {"torch": "2"})
    store.write_failure(failure)
    assert store.read_failure(CONFIG.id) == failure
    assert failure.traceback == "ValueError: no\n good \\udc80\n"
    assert store.ids("failed") == [CONFIG.id]
    data = store.files.read(f"failed/{CONFIG.id}.json")
    store.files.write(f"failed/{CONFIG.id}.json", data.replace(b'"seed": 0', b'"seed": 7'))
    with pytest.raises(DamagedRecord, match=f"failed/{CONFIG.id}.json: damaged"):
        store.read_failure(CONFIG.id)
    store.forget_failure(CONFIG.id)
    assert store.ids("failed") == []


def test_tags_mark_runs_that_stay_as_they_are(store):
    store.write(record(0), record(1))
    for tag in ("pilot", "v1.0"):
        Store(store.files.address, tag=tag).write(record(0))
    assert Store(store.files.address).read(record(0).config.id).tags == ("pilot", "v1.0")
    assert Store(store.files.address).read(record(1).config.id).tags == ()
    before = store.files.names("tags/pilot")
    Store(store.files.address, tag="pilot").tag_runs([record(0).config.id])  # nothing new
    assert store.files.names("tags/pilot") == before


@pytest.mark.parametrize("tag", ["", "..", "a/b", "a,b", "x" * 101])
def test_a_tag_that_cannot_name_a_folder_is_refused(tmp_path, tag):
    with pytest.raises(InputError, match=r"tag=.*: must be a name of letters, digits, _, - and \."):
        Store(tmp_path, tag=tag)


def test_runs_asked_for_again_under_a_tag_are_marked_and_found(tmp_path):
    first = synthlab.run(seeds=2, results=tmp_path, tag="pilot", progress=False, **QUICK)
    again = synthlab.run(seed=1, results=tmp_path, tag="main", progress=False, **QUICK)
    assert again[0].environment == first[1].environment  # not trained again
    assert [each.tags for each in (first[0], again[0])] == [("pilot",), ("main", "pilot")]
    assert set(load_records(tmp_path, "tag=main")["seed"]) == {1}


def test_a_pickled_store_keeps_what_it_knows(tmp_path):
    store = Store(tmp_path, save=[2], tag="pilot")
    one, two = (pickle.loads(pickle.dumps(store)) for _ in range(2))
    assert one is two
    assert (one.save, one.tag, one.root) == ((2,), "pilot", tmp_path)


def test_a_file_with_other_columns_is_refused_in_one_line(tmp_path):
    Store(tmp_path).write(record())
    (path,) = tmp_path.glob("runs/*.parquet")
    table, about = pq.read_table(path), pq.read_metadata(path).metadata
    path.unlink()
    columns = ["kind" if name == "family" else name for name in table.column_names]  # as it was called once
    sink = pa.BufferOutputStream()
    pq.write_table(table.rename_columns(columns).replace_schema_metadata(about), sink)
    data = sink.getvalue().to_pybytes()
    path = path.with_name(f"{path.name[:26]}{checksum(data)}.parquet")
    path.write_bytes(data)
    line = f"^{path}: another version of synthlab wrote it, without the column family; move it away$"
    for read in (lambda: list(Store(tmp_path).read_all()), lambda: load_records(tmp_path)):
        with pytest.raises(InputError, match=line):
            read()


def test_a_folder_of_the_layout_before_is_refused_with_the_command_that_rewrites_it(tmp_path):
    (tmp_path / "runs" / ("0" * 16)).mkdir(parents=True)
    with pytest.raises(InputError, match=f"python -m experiments.rewrite_records {tmp_path} rewrites them$"):
        Store(tmp_path).ids()


def test_an_address_of_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match=r"^results=nowhere://x: cannot be reached .*nowhere.*; give a folder$"):
        Store("nowhere://x")


@pytest.mark.parametrize("name", ["file", "file/below", "loop/x", "x" * 300, "a\0b"])
def test_a_results_folder_that_cannot_be_is_refused_in_one_line(tmp_path, name):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(StoreError, match=r"^results=.*: cannot be written \(.*\)$"):
        Store(f"{tmp_path}/{name}").make_writable()
    if "file" not in name:
        with pytest.raises(StoreError, match=r"^results=.*: cannot be read \(.*\)$"):
            Store(f"{tmp_path}/{name}").ids()


def test_memory_serves_one_process():
    address = f"memory://{secrets.token_hex(4)}"
    with pytest.raises(InputError, match=f"results={address}: is seen by no other process; give a folder, or workers"):
        synthlab.run(**QUICK, seeds=2, results=address, workers=2, progress=False)
    assert len(synthlab.run(**QUICK, seeds=2, results=address, progress=False)) == 2


@pytest.mark.parametrize("command", ["synthlab -m seed=0,1", "experiments output_alignment/figure1", "theory"])
def test_a_command_refuses_memory_of_which_nothing_would_be_left(invoke, command):
    outcome = invoke(*command.split(), "results=memory://x")
    assert (outcome.status, outcome.err.startswith("error: results=memory://x: ")) == (2, True)


@pytest.mark.slow
def test_a_sweep_in_an_object_store_trains_what_is_missing_and_mends_damage(s3, invoke, quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where a sweep without a folder writes its tables
    with pytest.raises(StoreError, match=r"^results=s3://lab-misspelt/results: cannot be written \(.*bucket does not"):
        Store("s3://lab-misspelt/results").make_writable()
    results = f"{s3}/results"
    sweep = ["synthlab", *quick, "-m", "task=mean,sum", "seed=0,1", f"results={results}", "workers=2"]
    outcome = invoke(*sweep)
    assert outcome.status == 0, outcome.err
    assert invoke("collect", results, "--out", "runs.csv").out == "4 runs: runs.csv\n"
    store, whole = Store(results), load_records(results)
    name = next(name for name in store.files.names("runs") if name.endswith(".parquet"))
    data = bytearray(store.files.read(f"runs/{name}"))
    data[100] ^= 1
    store.files.write(f"runs/{name}", bytes(data))
    collected = invoke("collect", results, "--out", "runs.csv")
    assert collected.status == 1
    assert f"damaged: {results}/runs/{name}: damaged" in collected.err
    assert invoke(*sweep).status == 0
    pd.testing.assert_frame_equal(load_records(results), whole)
