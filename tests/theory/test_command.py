"""``python -m theory``: one hasty call writes everything; bad input is refused."""

import pandas as pd
import pytest

HASTY = [
    "train_length=4",
    "test_length=9",
    "head_dims=[1,2]",
    "seeds=1",
    "workers=1",
    "+trained.linear={protocol.steps:2,protocol.batch:2,evaluation.sequences:4}",
    "+trained.softmax={protocol.steps:2,protocol.batch:2,evaluation.sequences:4}",
    "language.test_lengths=[17,32]",
    "language.sequences=16",
    "language.protocol.steps=3",
]


@pytest.mark.slow
def test_one_call_writes_everything(invoke, tmp_path, monkeypatch):
    arguments, folder = [*HASTY, f"results={tmp_path}"], tmp_path / "theory"
    outcome = invoke("theory", *arguments)
    assert outcome.status == 0, outcome.err
    named = {line.strip() for line in outcome.out.splitlines() if line.startswith(f"  {folder}")}
    assert named == {str(path) for path in folder.iterdir() if not path.name.startswith(".")}
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(pd.read_csv(folder / "ledger.csv")) == 63
    training, maps = (pd.read_csv(folder / f"{name}.csv") for name in ("training", "maps"))
    assert set(training["model"]) == {"linear", "softmax"}
    assert training["length"].max() == 9
    assert set(maps["outrep"]) >= {"identity", "log", "reciprocal"}
    assert pd.read_csv(folder / "theorem1.csv")["length"].tolist() == [17, 32]

    monkeypatch.setattr("synthlab.sweeps.workers.execute_together", None)  # no run is trained again
    assert invoke("theory", *arguments).status == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("workers=10000000", "workers=10000000: "),
        ("+trained.linear.inputs=uniform_count", "trained.linear.inputs=uniform_count: "),
        ("trained.softmax.model.name=linear", "trained.softmax.model=linear: "),
    ],
)
def test_bad_input_is_refused(invoke, tmp_path, override, message):
    outcome = invoke("theory", f"results={tmp_path}", override)
    assert (outcome.status, outcome.out) == (2, "")
    (line,) = outcome.err.strip().splitlines()
    assert line.startswith(f"error: {message}")
    assert not list(tmp_path.iterdir())
