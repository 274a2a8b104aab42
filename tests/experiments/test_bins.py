"""Sequence tasks: ranges of lengths, horizon, runs that fit, shifts."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from experiments.crasp.paper import PAPER
from experiments.sequences.alignment import shifts
from experiments.sequences.bins import bins_of
from experiments.sequences.published import RANGE
from support.configs import SMALL_SEQUENCES as SMALL
from support.configs import small_sequences as small
from synthlab.errors import InputError, RunsFailed
from synthlab.sequences.evaluation import Outputs, by_bin
from synthlab.sequences.run import METRICS
from synthlab.studies.overrides import Overrides
from synthlab.studies.plots import Series
from synthlab.studies.study import Plan
from synthlab.training.execution import execute


def planned(**grid) -> Plan:
    """A study of one task under one encoding."""
    given = [each for each in SMALL if each.split("=")[0] not in grid.get("fixed", {})]
    task = {"title": "t", "fixed": {"task": "majority"} | grid.pop("fixed", {})} | grid
    study = PAPER.studies({"s": {"title": "t", "arms": {"nope": {"encoding": "nope"}}, "tasks": {"a": task}}})["s"]
    return study.plan("s", Overrides(given), seeds=2)


def test_whose_seeds_count():
    raw = {"title": "t", "arms": {"nope": {"encoding": "nope"}}}
    tasks = {
        "a": {"title": "a", "fixed": {"task": "majority"}},
        "b": {"title": "b", "seeds": 7, "fixed": {"task": "mode"}},
    }
    for own, given, expected in (("auto", None, (5, 7)), (2, None, (2, 7)), (2, 3, (3, 3)), (2, "auto", (5, 5))):
        study = PAPER.studies({"s": raw | {"tasks": tasks, "seeds": own}})["s"]
        plan = study.plan("s", Overrides(SMALL), given, first_seed=4)
        assert tuple(plan.cells[key][0].seeds for key in tasks) == expected
        assert plan.cells["b"][0].configs[0].seed == 4
    with pytest.raises(InputError, match=r"study\.s\.tasks\.a\.seeds=0: must be greater than or equal to 1"):
        PAPER.studies({"s": raw | {"tasks": {"a": {"title": "a", "seeds": 0}}}})


def test_ranges_can_be_set_in_a_grid_and_on_the_command_line():
    plan = planned(fixed={"bins": [[5, 6], [7, 8]]})
    assert [run.bins for run in plan.configs] == [[[5, 6], [7, 8]]] * 2
    with pytest.raises(InputError, match="^bins="):
        planned(fixed={"bins": [[7, 6]]})


OUTPUTS = Outputs(range(1, 9), torch.eye(8), torch.eye(8))


def metrics(exact: list[float]) -> pd.DataFrame:
    return pd.DataFrame(dict.fromkeys(METRICS, 0.5), index=range(len(exact))).assign(
        length=range(1, len(exact) + 1), exact=exact
    )


def test_horizon_by_hand():
    exact = [0.0, 0.0, 1.0, 1.0, 1.0, 0.95, 0.5, 1.0]
    found = by_bin(metrics(exact), OUTPUTS, small("train_from=3"))
    assert found["horizon"].tolist() == [6, 6]
    assert found[["first", "last"]].values.tolist() == [[3, 4], [5, 8]]
    assert by_bin(metrics(exact), OUTPUTS, small())["horizon"].tolist() == [0, 0]


def test_published_ranges_are_rows():
    record = execute(planned().configs[0])
    record = replace(record, metrics=record.metrics.assign(exact=[1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2]))
    lengths = {1: np.array([4.5, 5.0 + 1e-12, 5.2]), 2: np.array([8.0, 9.7])}  # tested are 5, 5 and 6; 8 and 8
    found = bins_of(Series({}, [record]), 0.99, lengths)
    assert record.outputs is not None
    assert found[RANGE].tolist() == [*[0] * len(record.outputs), 1, 2]
    assert found["exact"].tolist()[-2:] == pytest.approx([(0.8 + 0.8 + 0.6) / 3, 0.2])
    assert found[["first", "last"]].values.tolist()[-2:] == [[5, 6], [8, 8]]


def test_a_study_of_which_every_run_diverged_has_failed():
    plan = planned()
    records = {config.id: replace(execute(config), diverged_at=3, outputs=None) for config in plan.configs}
    with pytest.raises(RunsFailed, match="every run diverged"):
        plan.study.evidence(plan, records)


def test_exact_match_is_counted_above_chance():
    rows = pd.DataFrame(
        {"task": "bit", "seed": 0, "train_length": 4, "chance": 0.5, "sequences": 8, "tokens": 0.5, "target_shift": 0.0}
        | {"arm": arm, "series": arm, "first": last - 3, "last": last, "exact": exact, "shift": shift, RANGE: 0}
        for arm, last, exact, shift in (
            *(("nope", 4, 1.0, 0.0), ("nope", 8, 0.5, 0.3)),
            *(("rope", 4, 0.9, 0.0), ("rope", 8, 0.75, 0.0)),
        )
    )
    found = shifts(rows, "exact").set_index("arm")
    assert found["score"].to_dict() == {"nope": 0.0, "rope": 0.5}
    assert found["shift"].to_dict() == {"nope": 0.3, "rope": 0.0}
    assert found["misfit"].to_dict() == pytest.approx({"nope": 0.0, "rope": 0.1})
