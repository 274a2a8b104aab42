"""The plot of what trained models compute inside."""

import pandas as pd
import pytest

from experiments.output_alignment import inside
from experiments.output_alignment.heads import heads_of
from support.configs import QUICK
from synthlab.config.composition import to_overrides
from synthlab.storage.store import Store

OWN = """
heads:
  title: Heads
  panels:
    main:
      title: lost without the head
      fixed: {model.heads: 2}
      vary: {task: [length, sum], outrep: [identity, rsqrt]}
      plot: {name: inside, rows: outrep, columns: task, measure: lost}
"""
SHORT = [*to_overrides(QUICK | {"test_length": 4}), "train_length=2"]


@pytest.fixture
def own(tmp_path, monkeypatch) -> list[str]:
    monkeypatch.setattr(inside, "_measured", {})
    folder = tmp_path / "own" / "study" / "output_alignment"
    folder.mkdir(parents=True)
    (folder / "heads.yaml").write_text(OWN)
    return ["--config-dir", str(tmp_path / "own"), *SHORT, "output_alignment/heads", "workers=1", "seeds=2"]


@pytest.mark.slow
def test_a_figure_of_ones_own(invoke, own, tmp_path):
    outcome = invoke("experiments", *own, "save=weights", f"results={tmp_path}")
    assert outcome.status == 0, outcome.err
    drawn = pd.read_csv(tmp_path / "output_alignment" / "figures" / "headsmain.csv")
    grid = [[outrep, task] for outrep in ("identity", "rsqrt") for task in ("length", "sum")]
    assert drawn[["outrep", "task"]].values.tolist() == grid
    assert set(drawn["seeds"]) == {2}
    records = list(Store(tmp_path).read_all())
    assert all(record.weights for record in records)
    chosen = [r for r in records if r.config.outrep["name"] == "rsqrt" and r.config.task["name"] == "sum"]
    expected = sorted(heads_of(record.model()).lost for record in chosen)
    row = drawn.iloc[3]
    assert [row["low"], row["high"]] == pytest.approx(expected)
    assert set(drawn["metric"]) == {inside.MEANINGS["lost"]}
