"""All runs as one table, from the command line and from Python: the same rows, in parts, whatever is damaged."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pandas as pd
import pytest

from experiments.long_short_alignment.scalar import ScalarRun
from support.records import CONFIG, record, unmeasured
from synthlab import load_records
from synthlab.analysis import collection
from synthlab.analysis.record_list import Records
from synthlab.collect import collect
from synthlab.numbers.run import METRICS, NumbersRun
from synthlab.storage.records import Failure
from synthlab.storage.store import Store

LENGTHS = CONFIG.test_length


@pytest.fixture
def store(tmp_path) -> Store:
    """Runs of two encodings, two seeds; one that diverged, and one that failed and is left out."""
    store = Store(tmp_path / "results")
    for encoding in ({"name": "nope"}, {"name": "rope", "base": 100.0}):
        store.write(*(record(seed, encoding=encoding) for seed in (0, 1)))
    store.write(record(2, diverged_at=3))
    store.write_failure(Failure.from_error(record(3).config, ValueError("no\n good"), {}))
    return store


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_command_and_python_give_the_same_table(invoke, store, tmp_path, suffix):
    out = tmp_path / "deep" / f"runs.{suffix}"
    outcome = invoke("collect", str(store.root), "--out", str(out))
    assert (outcome.status, outcome.err, outcome.out) == (0, "", f"5 runs: {out}\n")
    read = pd.read_csv(out, dtype={"torch": str}) if suffix == "csv" else pd.read_parquet(out)
    expected = load_records(store.root)
    assert len(read) == len(expected) == 4 * LENGTHS + 1
    read = read.sort_values("id", kind="stable", ignore_index=True)
    assert list(read) == list(expected)
    for name in read:
        assert (read[name].isna() == expected[name].isna()).all()
        assert list(read[name].dropna()) == list(expected[name].dropna()), name
    assert [path.name for path in out.parent.iterdir()] == [out.name]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_not_a_number_is_collected_as_it_was_measured(tmp_path, suffix):
    kept, out = unmeasured(), tmp_path / f"runs.{suffix}"
    Store(tmp_path / "results").write(kept)
    assert not collect(tmp_path / "results", out).damaged
    read = pd.read_csv(out) if suffix == "csv" else pd.read_parquet(out)
    for name in METRICS:
        pd.testing.assert_series_equal(read[name], kept.metrics[name], check_exact=True)


class Elsewhere(NumbersRun):
    """A family that only this module knows."""

    family: Literal["elsewhere"] = "elsewhere"


@pytest.mark.slow
def test_a_process_that_imports_nothing_else_collects_all_families_and_names_those_it_does_not_know(tmp_path):
    store, run = Store(tmp_path / "results"), record()
    plain = run.config.model_dump(exclude={"family"})
    for config in (run.config, ScalarRun.from_raw(plain), Elsewhere.from_raw(plain)):
        store.write(replace(run, config=config))
    command = [sys.executable, "-m", "synthlab.collect", tmp_path / "results", "--out", tmp_path / "runs.csv"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, f"2 runs: {tmp_path / 'runs.csv'}\n"), done.stderr
    assert done.stderr == "unknown family: family=elsewhere: not known here: 1 records left out\n"


def test_a_row_holds_what_the_record_says(store):
    table = load_records(store.root)
    run = record(1, encoding={"name": "rope", "base": 100.0})
    rows = table[table["id"] == run.config.id].reset_index(drop=True)
    assert list(rows["length"]) == list(range(1, LENGTHS + 1))
    for name in METRICS:
        assert list(rows[name]) == list(run.metrics[name])
    assert set(rows["encoding.base"]) == {100.0}
    assert set(table[table["encoding"] == "nope"]["encoding.base"].isna()) == {True}
    alone = Records([run]).table()
    for name in alone:
        assert list(alone[name].dropna()) == list(rows[name].dropna()), name


@pytest.mark.parametrize(
    ("where", "rows"),
    [("encoding=rope seed=1 length>=11", 2), ("status=diverged", 1), ({"encoding": "rope", "seed": 0}, LENGTHS)],
)
def test_conditions_choose_runs_and_rows(store, where, rows):
    assert len(load_records(store.root, where=where)) == rows


def test_tables_of_many_runs_are_made_in_parts(store, monkeypatch, invoke, tmp_path):
    whole = load_records(store.root)
    monkeypatch.setattr(collection, "PART_RUNS", 2)
    parts = list(collection.Collection(store).parts())
    assert [part["id"].nunique() for part in parts] == [2, 2, 1]
    pd.testing.assert_frame_equal(load_records(store.root), whole)
    assert invoke("collect", str(store.root), "--out", str(tmp_path / "x.parquet")).status == 0
    assert len(pd.read_parquet(tmp_path / "x.parquet")) == len(whole)


@pytest.mark.parametrize("at", [0.3, 0.99])
def test_damaged_files_are_reported_and_all_others_are_there(invoke, store, tmp_path, at):
    victim = Path(store.path(record(0, encoding={"name": "nope"}).config.id))
    data = bytearray(victim.read_bytes())
    data[int(at * len(data))] ^= 1
    victim.write_bytes(data)
    outcome = invoke("collect", str(store.root), "--out", str(tmp_path / "x.csv"))
    assert outcome.status == 1
    assert outcome.out.startswith("3 runs: ")
    first, last = outcome.err.splitlines()
    assert first.startswith(f"damaged: {victim}: damaged (")
    assert last == "damaged: 1 files in all, left out"
    assert len(pd.read_csv(tmp_path / "x.csv")) == 2 * LENGTHS + 1
    with pytest.warns(UserWarning, match="1 damaged files are left out"):
        assert len(load_records(store.root)) == 2 * LENGTHS + 1


def test_an_empty_store_and_conditions_that_none_fulfils_give_a_table_without_rows(invoke, store, tmp_path):
    for where in ("task=sum", "status=failed"):
        assert load_records(store.root, where=where).empty
    (tmp_path / "empty").mkdir()
    for folder, where in ((store.root, "task=sum"), (tmp_path / "empty", "task=sum")):
        for suffix in ("csv", "parquet"):
            outcome = invoke("collect", str(folder), "--where", where, "--out", str(tmp_path / f"x.{suffix}"))
            assert (outcome.status, outcome.out.split()[0]) == (0, "0"), outcome.err
    assert len(pd.read_csv(tmp_path / "x.csv")) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["RESULTS", "--out", "runs.xlsx"], "out=runs.xlsx: must end in .parquet or .csv"),
        (["RESULTS", "--out", "/proc/nowhere/runs.csv"], "out=/proc/nowhere/runs.csv: cannot be written"),
        (["RESULTS/nowhere"], "results=.*nowhere: there is no such folder"),
        (["RESULTS", "--wheer", "task=mean"], "unrecognized arguments: --wheer"),
    ],
)
def test_bad_input_is_refused_in_one_line(invoke, store, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = invoke("collect", *[argument.replace("RESULTS", str(store.root)) for argument in arguments])
    assert (outcome.status, outcome.out) == (2, "")
    assert len(outcome.err.splitlines()) == 1
    assert re.search(message, outcome.err)
