"""The study of how far counting reaches: its account in theory, its map, and what its claims say of made-up runs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from experiments.output_alignment.counting import CLAIMS, find_best_share, find_optimum, measure_horizons
from support.configs import composed
from support.records import record
from synthlab.runs.run import resolve
from synthlab.storage.records import Record
from synthlab.studies.evidence import Evidence
from theory import optimum


def test_linear_attention_at_q_1_is_that_of_the_exact_theory():
    exact = optimum("length", 10, 2, outrep="log", bos=True).to_decimals()
    assert find_optimum(1.0, "log", None, [11, 30]) == pytest.approx([float(exact.error(k)) for k in (11, 30)])


def test_a_milder_weight_lets_linear_attention_count_further():
    errors = [find_optimum(q, "log", None, [50])[0] for q in (1.0, 0.1, 0.01)]
    assert errors[0] > 100 * errors[1] > 100 * 50 * errors[2]  # in the limit the weight is a line in log k
    assert find_best_share(1.0, 50) == pytest.approx(0.645, rel=0.02)


@pytest.mark.parametrize("p", [-0.35, 0.0])
def test_the_scaled_map_keeps_the_laws(p):
    name = "experiments.output_alignment.counting:Scaled"
    made = resolve(composed("task=length", f"outrep={name}", f"outrep.p={p}", "outrep.scale=0.25"))
    assert [law for law in made.load_family().measure_laws(made) if not law.holds] == []


def run(q: float, p: float, error: float, seed: int) -> Record:
    """A run whose error is ``error`` at each length, and whose relative error rises by ``error`` per cent a length."""
    encoding = {"name": "readout", "q": q, "raised": "both", "inner": {"name": "nope"}}
    blank = record(seed, encoding=encoding, outrep={"name": "power", "p": p, "shift": 0.0}, test_length=20)
    return replace(
        blank,
        metrics=blank.metrics.assign(mse=error, relative_error=0.01 * error * np.arange(1, 21)),
        training=pd.DataFrame({"step": [10, 20], "loss": [1.0, 1e-9]}),
    )


def evidence_of(**errors: float) -> Evidence:
    """Eight seeds of each series; its name is q and p."""
    series = dict[str, list[Record]]()
    for name, error in errors.items():
        q, p = map(float, name.split())
        series[name] = [run(q, p, error, seed) for seed in range(8)]
    return Evidence(series)


def test_the_pair_has_to_beat_1_over_x_and_both_of_its_halves():
    def answers(claim: str, **errors: float) -> list[str]:
        every = {"0.5 -0.35": 0.5, "1 -1": 1.0, "1 -0.35": 3.0, "0.5 -1": 3.0} | errors
        return [check.answer for check in CLAIMS[claim].check(evidence_of(**every))]

    assert answers("far") == ["holds"] * 4
    # At 20 % both then reach the longest tested length, which tells nothing.
    assert answers("far", **{"1 -1": 0.4}) == ["fails"] * 3 + ["not tested"]
    assert answers("far_elsewhere") == ["holds"]
    assert answers("pair") == ["holds", "holds"]  # none of SSMax and of other units
    assert answers("pair", **{"1 -0.35": 0.4}) == ["fails", "holds"]


def test_horizons_by_hand():
    evidence = evidence_of(**{"0.5 -0.35": 1.0})
    assert [measure_horizons(evidence, "0.5 -0.35", each).unique().tolist() for each in (0.05, 0.1)] == [[4], [9]]
