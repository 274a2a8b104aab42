import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.records import CONFIG, final_weights, record, unmeasured, with_weights
from synthlab import load_records
from synthlab.analysis.record_list import Records
from synthlab.errors import DamagedRecord, InputError
from synthlab.regression.config import RunConfig
from synthlab.storage.records import Record, status_of, status_with
from synthlab.storage.store import Store


def same(a: Record, b: Record) -> bool:
    frames = a.metrics.equals(b.metrics) and a.training.equals(b.training)
    return frames and (a.config, a.diverged_at, a.environment) == (b.config, b.diverged_at, b.environment)


@pytest.mark.parametrize("make", [record, unmeasured])
def test_a_record_comes_back_as_it_was_to_the_last_bit(tmp_path, make):
    store, kept = Store(tmp_path), make()
    store.write(kept)
    assert same(store.read(kept.config.id), kept)
    assert list(store.ids()) == [kept.config.id]
    assert not store.holds(CONFIG.with_seeds({"seed": 7}))


def test_outputs_come_back_where_there_are_any(tmp_path):
    store, plain = Store(tmp_path), record()
    store.write(plain)
    assert store.read(plain.config.id).outputs is None
    outputs = pd.DataFrame({"zero": [1 / 3, -2e-17], "one": [np.pi, 4.0]})
    store.write(replace(record(seed=1), outputs=outputs))
    kept = store.read(record(seed=1).config.id)
    pd.testing.assert_frame_equal(kept.outputs, outputs, check_exact=True)
    (store.runs / kept.config.id / "outputs.csv").unlink()
    with pytest.raises(InputError, match="damaged record"):
        store.read(kept.config.id)


def test_what_is_not_a_number_was_measured(tmp_path):
    kept = unmeasured()
    Store(tmp_path).write(kept)
    assert Store(tmp_path).read(kept.config.id).outputs.equals(kept.outputs)
    table = load_records(tmp_path)
    assert np.isnan(table["mse"][1])
    assert table["mse"][2] == -np.inf
    assert table["horizon"][0] == 1  # length 1 alone is known to be near


def test_a_half_written_record_is_none(tmp_path):
    store, kept = Store(tmp_path), record()
    store.write(kept)
    (store.runs / kept.config.id).rename(store.runs / f".partial-{kept.config.id}-00000000")
    assert not store.holds(kept.config)
    assert list(store.ids()) == []
    store.write(kept)  # and does not hinder the next attempt
    assert store.holds(kept.config)


@pytest.mark.parametrize("name", ["config.json", "metrics.csv", "training.csv", "weights.safetensors", "status.json"])
@settings(max_examples=20)
@given(data=st.data())
def test_any_damage_is_noticed_and_named(tmp_path_factory, name, data):
    store, kept = Store(tmp_path_factory.mktemp("store")), with_weights(record(), b"\x08\x00numbers")
    store.write(kept)
    path = store.runs / kept.config.id / name
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        path.write_bytes(whole[:at])
    else:
        flipped = bytes([whole[at] ^ 1 << data.draw(st.integers(0, 7))])
        path.write_bytes(whole[:at] + flipped + whole[at + 1 :])
    with pytest.raises(InputError, match="damaged record") as caught:
        final_weights(store.read(kept.config.id))
    assert str(store.runs / kept.config.id) in str(caught.value)
    assert len(caught.value.lines) == 1
    shutil.rmtree(store.root)


def forge(folder: Path, name: str, data: bytes) -> None:
    """Replace a file of a record, or add one, with a checksum that is right."""
    with suppress(OSError):  # a name too long for a file
        (folder / name).write_bytes(data)
    status = status_of((folder / "status.json").read_bytes())
    (folder / "status.json").write_bytes(status_with(status, {name: data}))


def replace_by(path: Path, make: Callable[[Path], None]) -> None:
    path.unlink()
    make(path)


HOSTILE = {
    "no file": lambda run: [path.unlink() for path in run.iterdir()],
    "a status without end": lambda run: (run / "status.json").write_bytes(b"[" * 100_000),
    "a config without end": lambda run: forge(run, "config.json", b"[" * 100_000),
    "a deep config": lambda run: forge(run, "config.json", b'{"kind":' * 200 + b"1" + b"}" * 200),
    "a large config": lambda run: forge(run, "config.json", (run / "config.json").read_bytes() + b" " * 2**24),
    "a file elsewhere": lambda run: forge(run, "../outside.txt", b""),
    "weights of a step beyond all": lambda run: forge(run, f"weights-{'9' * 200}.safetensors", b""),
    "a table of one long entry": lambda run: forge(run, "metrics.csv", b"length,mse\n1," + b"1" * 200_000),
    "a table of large numbers": lambda run: forge(run, "metrics.csv", b"length\n" + b"9" * 40),
    "a table without lengths": lambda run: forge(run, "metrics.csv", b"mse\n1.0\n"),
    "a pipe": lambda run: replace_by(run / "training.csv", os.mkfifo),
    "a pipe for a status": lambda run: replace_by(run / "status.json", os.mkfifo),
    "a device": lambda run: replace_by(run / "metrics.csv", lambda path: path.symlink_to("/dev/zero")),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_record_that_means_harm_is_damaged_and_hides_no_other(tmp_path, case):
    store, sound, other = Store(tmp_path), record(0), record(1)
    for each in (sound, other):
        store.write(each)
    HOSTILE[case](store.runs / other.config.id)
    with pytest.raises(DamagedRecord) as caught:
        store.read(other.config.id)
    assert len(caught.value.lines) == 1
    with pytest.warns(UserWarning, match=f"^1 damaged records are left out: .*{other.config.id}: damaged record"):
        assert set(load_records(tmp_path)["id"]) == {sound.config.id}


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_weights_that_are_no_file_are_damaged(tmp_path, make):
    store, kept = Store(tmp_path), with_weights(record(), b"\x08\x00numbers")
    store.write(kept)
    replace_by(store.runs / kept.config.id / "weights.safetensors", make)
    with pytest.raises(DamagedRecord, match="weights.safetensors is no regular file"):
        final_weights(store.read(kept.config.id))


def test_a_record_under_another_runs_name_is_damaged(tmp_path):
    store, kept = Store(tmp_path), record()
    store.write(kept)
    other = kept.config.with_seeds({"seed": 5})
    shutil.copytree(store.runs / kept.config.id, store.runs / other.id)
    with pytest.raises(InputError, match="holds the run"):
        store.read(other.id)


def test_records_of_another_version_and_strange_files_are_passed_over(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.write(record(0))
    (store.runs / "notes.txt").write_text("mine")
    assert len(load_records(tmp_path)) == CONFIG.test_length
    monkeypatch.setattr(RunConfig, "results_version", 99)
    assert list(store) == []
    assert load_records(tmp_path).empty


def test_what_an_interrupted_run_left_long_ago_is_swept_away(tmp_path):
    store = Store(tmp_path)
    old, new = store.runs / ".partial-old", store.runs / ".partial-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    store.tidy()
    assert not old.exists()
    assert new.exists()  # it may be another process's, at work right now


@pytest.mark.parametrize("where", ["file", "file/below"])
def test_a_results_folder_that_cannot_be_is_refused_in_one_line(tmp_path, where):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"results=.*file.*: cannot be written \(.*\); give a folder"):
        Store(tmp_path / where).make_writable()


def test_no_records_are_an_empty_table(tmp_path):
    assert load_records(tmp_path / "nowhere").empty
    assert repr(Records()) == "no records"
