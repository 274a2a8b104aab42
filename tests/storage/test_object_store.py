"""A store in an object store that speaks S3, as moto serves it: what docs/stores.md and docs/sweeps.md promise."""

import pandas as pd
import pytest

from support.processes import at_once
from support.records import record
from synthlab.errors import StoreError
from synthlab.storage.files import files_at
from synthlab.storage.store import Store

pytestmark = pytest.mark.slow


def damage(store: Store, identity: str) -> None:
    """Flip a bit of a record's numbers."""
    path = f"runs/{identity}/metrics.csv"
    data = bytearray(store.files.read(path))
    data[-3] ^= 1
    store.files.write(path, bytes(data))


def test_a_bucket_that_is_not_there_is_refused_and_not_made(s3):
    import s3fs

    with pytest.raises(StoreError, match=r"^results=s3://lab-misspelt/results: cannot be written \(.*bucket does not"):
        Store("s3://lab-misspelt/results").make_writable()
    assert not s3fs.S3FileSystem().exists("lab-misspelt")


def test_of_two_who_write_a_record_the_first_stays(s3):
    store, first, second = Store(s3), record(), record(scale=2.0)
    store.write(first)
    store.write(second)
    pd.testing.assert_frame_equal(store.read(first.config.id).metrics, first.metrics)
    at_once([lambda: Store(s3).write(record(1))] * 4)
    pd.testing.assert_frame_equal(store.read(record(1).config.id).metrics, record(1).metrics)


def test_a_file_whose_answer_was_lost_is_still_its_creators(s3, s3_server):
    files = files_at(s3)
    s3_server.lost = 1
    assert files.create("leases/x.0", b"mine")
    assert s3_server.lost == 0
    assert not files.create("leases/x.0", b"theirs")


def test_a_sweep_trains_what_is_missing_and_collect_names_what_is_damaged(s3, invoke, quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where a sweep without a folder writes its tables
    results = f"{s3}/results"
    sweep = ["synthlab", *quick, "-m", "seed=0,1", f"results={results}", "workers=2"]
    outcome = invoke(*sweep)
    assert outcome.status == 0, outcome.err
    collected = invoke("collect", results, "--out", "runs.csv")
    assert (collected.status, collected.out) == (0, "2 runs: runs.csv\n"), collected.err
    whole = pd.read_csv("runs.csv")
    store = Store(results)
    victim = min(store.ids())
    damage(store, victim)
    collected = invoke("collect", results, "--out", "runs.csv")
    assert (collected.status, collected.out) == (1, "1 runs: runs.csv\n")
    assert f"damaged: {results}/runs/{victim}: damaged record" in collected.err
    assert invoke(*sweep).status == 0
    assert invoke("collect", results, "--out", "runs.csv").status == 0
    pd.testing.assert_frame_equal(pd.read_csv("runs.csv"), whole)
    assert not list(store.files.names("leases/holders"))
