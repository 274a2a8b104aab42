"""Grids of arms, and what the command line asks of their runs."""

from dataclasses import replace
from functools import cache

import pandas as pd
import pytest

from experiments.long_short_alignment.scalar import ScalarRun
from support.configs import QUICK
from synthlab.errors import InputError
from synthlab.runs.composition import to_overrides
from synthlab.studies.grids import Cell, Grid
from synthlab.studies.overrides import Overrides
from synthlab.training.execution import execute


@cache
def asked(*given: str) -> Overrides:
    return Overrides(given)


def cells(grid: Grid, *overrides: str, seeds: int = 1) -> list[Cell]:
    return grid.cells("study.s", asked(*overrides), range(seeds))


def test_overrides_hold_for_every_run_and_are_refused_against_the_grid():
    grid = Grid(fixed={"task": "mean"}, vary=[{"encoding": ["nope", "alibi"]}, {"outrep": ["log"]}])
    found = cells(grid, "train_length=7", seeds=2)
    assert [cell.chosen for cell in found] == [{"encoding": "nope"}, {"encoding": "alibi"}, {"outrep": "log"}]
    for cell in found:
        assert [config.seed for config in cell.configs] == [0, 1]
        assert {(c.train_length, c.encoding["name"]) for c in cell.configs} == {
            (7, cell.chosen.get("encoding", "nope"))
        }
    for own in ("task=sum", "encoding=t5"):
        with pytest.raises(InputError, match=f"{own}: study.s sets {own.split('=')[0]} itself; see conf/study/"):
            cells(grid, own)
    part = Grid(vary=[{"outrep": [{"name": "power", "p": 2.0, "shift": 2.0}]}])
    with pytest.raises(InputError, match="outrep.shift=7: study.s sets outrep.shift itself"):
        cells(part, "outrep.shift=7")


def test_an_arm_s_settings_take_the_place_of_any_others():
    fixed = {"train_length": 5, "encoding": {"name": "rope", "base": 7.0}}
    arms = {"as it is": {}, "longer": {"train_length": 6}, "alibi": {"encoding": "alibi"}}
    found = [(cell.arm, cell.configs[0]) for cell in cells(Grid(fixed=fixed, arms=arms, vary={"task": ["sum"]}))]
    assert [(arm, run.train_length) for arm, run in found] == [("as it is", 5), ("longer", 6), ("alibi", 5)]
    assert [run.encoding.get("base") for _, run in found] == [7.0, 7.0, None]  # another member with all its settings


def test_a_seed_that_is_set_apart_is_the_same_in_every_run_of_a_series():
    one_test = cells(Grid(fixed={"task": "sum"}, vary={"weight_seed": [0, 5]}), "test_seed=0", seeds=2)
    found = [[[c.seed, c.weight_seed, c.data_seed, c.test_seed] for c in cell.configs] for cell in one_test]
    assert found == [[[0, 0, 0, 0], [1, 0, 1, 0]], [[0, 5, 0, 0], [1, 5, 1, 0]]]


def test_a_tuned_series_is_taken_under_its_best_setting():
    [cell] = cells(Grid(vary={"task": ["sum"]}, tune={"protocol.lr": [1, 2]}), *to_overrides(QUICK), seeds=3)
    assert list(cell.candidates) == ["protocol.lr=1", "protocol.lr=2"]
    losses = zip(cell.configs, [0.1, 0.9, 0.9, 0.2, 0.3, 0.2], strict=True)
    blank = execute(cell.configs[0])
    records = {
        config.id: replace(blank, config=config, training=pd.DataFrame({"step": [1], "loss": [loss]}))
        for config, loss in losses
    }
    setting, runs = cell.find_best(records)
    assert setting == "protocol.lr=2"
    assert [record.config for record in runs] == cell.candidates["protocol.lr=2"]
    diverged = {key: replace(r, diverged_at=1) if r.config.protocol.lr == 2 else r for key, r in records.items()}
    assert cell.find_best(diverged)[0] == "protocol.lr=1"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"claims": ["1z"]}, "study.s.claims=1z: unknown; choose from 1a, 1b"),
        ({"vary": {"seed": [1]}}, "study.s: sets seed, which only the command line may set; leave it out"),
        ({"arms": {"a": {"protocol.lr": 1}}, "tune": {"protocol.lr": [1, 2]}}, "study.s: sets protocol.lr twice"),
    ],
)
def test_what_does_not_belong_in_a_grid_is_refused(parts, message):
    with pytest.raises(InputError, match=message):
        Grid(**parts).check_settings("study.s", {"1a": None, "1b": None})


def test_the_same_run_twice_would_pass_for_a_seed():
    with pytest.raises(InputError, match="study.s: two series have the same run; leave one out"):
        cells(Grid(vary=[{"encoding": ["nope", "rope"]}, {"encoding": ["rope"]}]), seeds=2)


def test_runs_of_each_family_take_the_settings_that_they_have():
    language = ("task=recall", "alignment.low=0.3")
    both = ("protocol.steps=7", "evaluation.sequences=9")
    found = asked(*language, *both, "study.mine.seeds=3", "study.mine2.seeds=4")
    (text,) = Grid().cells("s", found, range(1), task="text")
    (number,) = Grid(fixed={"task": "sum"}).cells("s", found, range(1), own=ScalarRun)
    assert (text.configs[0].task["name"], text.configs[0].protocol.steps) == ("recall", 7)
    assert (type(number.configs[0]), number.configs[0].protocol.steps) == (ScalarRun, 7)
    assert found.text("mine", ["language"]) == " ".join([*language, *both, "study.mine.seeds=3"])
    assert found.text("other", ["numbers"]) == " ".join(both)
    found.check_all_taken(["numbers", "language"])
    with pytest.raises(InputError, match="task=recall: none of the runs has this setting"):
        found.check_all_taken(["numbers"])


def test_more_seeds_of_a_series_are_those_it_would_have_had():
    for given in ([], ["test_seed=0"], ["test_seed=4", "data_seed=7"]):
        (five,), (ten,) = (cells(Grid(), *given, seeds=seeds) for seeds in (5, 10))
        assert five.extend(10) == ten
    (once,) = cells(Grid(), "weight_seed=0", "data_seed=0", "test_seed=0", seeds=5)
    assert once.seeds == once.extend(10).seeds == 1
    (five,) = cells(Grid(), seeds=5)
    assert once.configs[0] == five.configs[0]
    assert once.identity != five.identity  # more seeds of one are none of the other
