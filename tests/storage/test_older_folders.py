"""Results folders of earlier versions: records in folders of their own, some with earlier names of fields."""

import json
from pathlib import Path

import pandas as pd
import pytest

import synthlab
from experiments.long_short_alignment.scalar import ScalarConfig
from support.configs import config
from support.small import small as language
from support.small import small_sequences as sequences
from synthlab.config.base import Config, identity_of
from synthlab.storage.records import Record, _digest, encode_files, status_of, status_with
from synthlab.storage.store import Store
from synthlab.sweeps.sweep import Sweep

METRICS = {"sequences": ["exact", "token"], "language": ["loss", "accuracy"], "scalar": ["mse", "relative_error"]}
FOLLOWERS = ("weight_seed", "data_seed", "test_seed")


def as_written(kind: str, config: Config) -> dict:
    """What an earlier version wrote as ``config.json``."""
    raw = config.model_dump()
    if kind == "scalar":
        return raw
    raw = {key: value for key, value in raw.items() if key not in FOLLOWERS}
    raw["problem" if kind == "sequences" else "language"] = raw.pop("task")
    if kind == "language":
        raw["evaluation"]["seed"] = 2025
    return raw


def write_older(results: Path, kind: str, config: Config) -> str:
    """Write a record as an earlier version did; returns its identity."""
    raw = as_written(kind, config)
    identity = identity_of(raw, config.results_version)
    metrics = pd.DataFrame({"length": [1, 2], **{name: [0.5, 0.25] for name in METRICS[kind]}})
    files = encode_files(
        Record(config, metrics, pd.DataFrame({"step": [4], "loss": [0.1]}), environment={"torch": "2"})
    )
    files["config.json"] = (json.dumps(raw, indent=1) + "\n").encode()
    status = status_of(files.pop("status.json"))
    status["sha256"]["config.json"] = _digest(files["config.json"])
    Store(results / kind).files.write_group(f"runs/{identity}", files | {"status.json": status_with(status, {})})
    return identity


CONFIGS = {
    "sequences": lambda: sequences("task=copy", "seed=3"),
    "language": lambda: language("task=text", "seed=3", "test_seed=2025"),
    "scalar": lambda: ScalarConfig.from_run(config("seed=3")),
}


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize("within", [False, True])
def test_an_older_record_is_listed_with_the_present_names(tmp_path, kind, within):
    asked = CONFIGS[kind]()
    assert write_older(tmp_path, kind, asked) == asked.id
    assert Store(tmp_path).read(asked.id).config == asked
    table = synthlab.load_records(tmp_path / kind if within else tmp_path, where=f"task={asked.task['name']}")
    assert table["length"].tolist() == [1, 2]
    assert not {"problem", "language", "evaluation.seed"} & {*table}
    assert set(table["test_seed"]) == {asked.test_seed}


@pytest.mark.parametrize("kind", CONFIGS)
def test_an_older_record_is_copied_where_its_run_is_asked_for(tmp_path, kind, capsys):
    asked = CONFIGS[kind]()
    identity = write_older(tmp_path, kind, asked)
    sweep = Sweep([asked], Store(tmp_path), keep=lambda record: record)
    sweep.prepare()
    assert sweep.find_missing() == []
    assert capsys.readouterr().err == f"1 record of an earlier version was copied from {tmp_path / kind}\n"
    older, here = (folder / "runs" / identity for folder in (tmp_path / kind, tmp_path))
    assert {path.name: path.read_bytes() for path in older.iterdir()} == {
        p.name: p.read_bytes() for p in here.iterdir()
    }
    Sweep([asked], Store(tmp_path), keep=lambda record: record).prepare()
    assert capsys.readouterr().err == ""


def test_a_damaged_older_record_is_left_where_it_lies_and_its_run_trained_anew(tmp_path):
    asked = CONFIGS["sequences"]()
    path = tmp_path / "sequences" / "runs" / write_older(tmp_path, "sequences", asked) / "metrics.csv"
    path.write_text("length\n")
    sweep = Sweep([asked], Store(tmp_path), keep=lambda record: record)
    sweep.prepare()
    assert sweep.find_missing() == [asked]
    assert path.read_text() == "length\n"
