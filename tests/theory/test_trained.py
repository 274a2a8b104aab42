"""Theory against training: what agrees, what does not, and two trainings that do."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthlab.storage.store import Store
from synthlab.sweeps.sweep import ensure
from synthlab.training.execution import execute
from theory.results import agreement_by_case, by_shift, predictions
from theory.trained import Case, agreement, comparison, list_configs, mapped_cases, plain_cases

LINEAR = {"model": "linear", "protocol": "theory"}
HASTY = {"protocol.steps": 2, "protocol.batch": 2, "evaluation.sequences": 4}
LENGTHS = {"train_length": 4, "test_length": 9}


def trained_config(case: Case, **settings):
    chosen = {"linear": LINEAR | settings, "softmax": settings}
    return list_configs([case], chosen, LENGTHS, 1)[case][0]


def with_optimum(case: Case, factor: float = 1.0):
    """A record whose M is the exact optimum's, times ``factor``."""
    record = execute(trained_config(case, **HASTY))
    best = np.array(case.optimum(4).outputs.evalf(30).tolist(), dtype=float)
    return replace(record, outputs=pd.DataFrame(best * factor, columns=record.outputs.columns))


# One of each kind with every test: of rank one, plain, with a map on shifted targets and BOS.
OF_EACH_KIND = (Case("linear", "sum", 1), Case("linear", "mean", 2), Case("linear", "length", 2, "reciprocal", 1, True))
BY_KIND = [
    case if case in OF_EACH_KIND else pytest.param(case, marks=pytest.mark.slow)
    for case in (*plain_cases([1, 2])[:-3], *mapped_cases())
]


@pytest.mark.parametrize("case", BY_KIND, ids=str)
def test_the_optimum_agrees_with_itself(case):
    (exact,) = agreement({case: [with_optimum(case)]}).to_dict("records")
    assert exact["agrees"]
    assert exact["loss_off"] < 1e-9
    assert exact["error_off"] < 1e-6
    (off,) = agreement({case: [with_optimum(case, 1.2)]}).to_dict("records")
    assert not off["agrees"]


def test_comparison_has_trained_exact_and_paper():
    cases = [Case("linear", "sum", 1), Case("softmax", "sum"), Case("linear", "length", 2, "log")]
    runs = {case: [trained_config(case, **HASTY)] for case in cases}
    found = {case: [execute(runs[case][0])] for case in cases[:2]}
    table = comparison(runs, found).set_index("length")
    linear, softmax, untrained = (table[table["model"] == m] for m in ("linear", "softmax", "linear"))
    linear, untrained = linear[linear["outrep"] == "identity"], untrained[untrained["outrep"] == "log"]
    assert linear[["median", "exact", "paper"]].notna().all(axis=None)
    assert softmax["median"].tolist() == found[cases[1]][0].metrics["mse"].tolist()
    assert untrained["median"].isna().all()
    assert untrained["exact"].notna().all()


def test_maps_with_bos():
    lengths = {"train_length": 10, "test_length": 50}
    cases = [case for case in mapped_cases() if case.bos]
    table = comparison(list_configs(cases, {"linear": LINEAR}, lengths, 1), {})
    found = by_shift(table).set_index(["outrep", "shift"])
    assert found["exact"].round().to_dict() == {
        ("reciprocal", 1): 0,  # (1/(l + 1)) is the weight of BOS itself
        ("rsqrt", 0): 643, ("rlog", 1): 917, ("rsqrt", 1): 1228, ("log", 0): 1400, ("log", 1): 1497,
        ("sqrt", 0): 1584, ("sqrt", 1): 1604, ("identity", 0): 1656, ("rlog", 0): 3327,
        ("reciprocal", 0): 950**2,  # an output below 0 is clipped to what stands for 1,000
    }  # fmt: skip


@pytest.mark.slow
def test_predictions_hold_for_the_optima():
    runs = {case: [trained_config(case, **HASTY)] for case in plain_cases([2])}
    found = {case: [with_optimum(case)] for case in runs if case.model == "linear"}
    lengths = np.arange(1, 10)
    for case in runs:
        if case.model == "softmax":
            linear = Case("linear", case.task, 2)
            errors = comparison({linear: runs[linear]}, found)["median"]
            record = execute(runs[case][0])
            bias = (7.0 if case.task == "length" else 3.5) - lengths * (1 if case.task == "length" else 0.5)
            found[case] = [replace(record, metrics=record.metrics.assign(mse=errors, bias=bias))]
    table = predictions(comparison(runs, found), found)
    assert table["survives"].all()
    assert len(table) == 7


@pytest.mark.slow
@pytest.mark.parametrize("case", OF_EACH_KIND[::2], ids=str)
def test_trained_models_reach_the_optimum(case, tmp_path):
    config = list_configs([case], {"linear": LINEAR}, {"train_length": 10, "test_length": 50}, 1)[case][0]
    records = ensure([config], Store(tmp_path), progress=False)
    kept = Store(tmp_path).read(config.id)
    assert kept.outputs.equals(records[0].outputs)  # the record holds M
    table = agreement({case: records})
    assert table["agrees"].all()
    assert agreement_by_case(table)["agree"].tolist() == [1]
