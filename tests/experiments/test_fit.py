"""Which runs of a study fit, and what its tables and verdicts say of those alone."""

from dataclasses import replace

import pandas as pd
import pytest

from experiments.long_short_alignment.paper import PAPER
from experiments.long_short_alignment.predictions import Correlations, Scalar
from experiments.long_short_alignment.run_table import mark_fits
from experiments.long_short_alignment.scalar import ScalarRun
from support.configs import SMALL
from support.records import record
from synthlab.numbers.evaluation import constant_loss
from synthlab.studies.overrides import Overrides
from synthlab.training.execution import execute

OVERRIDES = {override.split("=")[0]: override for override in [*SMALL, "task=hidden_markov"]}
ARMS = {"alpha 0": {"alignment.alpha": 0.0}, "alpha 0.1": {"alignment.alpha": 0.1, "alignment.windows": 2}}


def test_a_run_is_held_against_the_best_of_its_texts():
    runs = pd.DataFrame({"task": ["text", "text", "code"], "train_length": 8, "loss_1x": [2.0, 2.6, 3.0]})
    assert mark_fits(runs, 0.5).tolist() == [True, False, True]
    assert mark_fits(runs.assign(**{"task.path": [None, None, "a"]}), 0.5).tolist() == [True, False, True]


def test_the_optimal_predictor_counts_where_known():
    runs = pd.DataFrame({"task": ["recall", "recall", "text"], "loss_1x": [2.0, 2.6, 3.0]})
    known = runs.assign(perfect_loss_1x=[1.4, 1.4, None])
    assert mark_fits(known, 0.5).tolist() == [False, False, True]


def test_numbers_over_runs_that_fit():
    """Two arms with two seeds each, of which only the runs of the first seed are as good as can be; and a third seed,
    under which one run diverged."""
    spec = {"title": "t", "fit": 0.1, "arms": ARMS, "claims": ["A1"], "seeds": 3}
    spec |= {"analysis": {"name": "effect", "label": "x", "quantities": ["loss_4x"]}}
    plan = PAPER.studies({"s": spec})["s"].plan("s", Overrides(OVERRIDES.values()))
    records = {config.id: execute(config) for config in plan.configs}
    for key, one in records.items():
        perfect = one.metrics.assign(loss=one.metrics["perfect"] + one.config.seed)
        records[key] = replace(one, metrics=perfect)
    lost = plan.configs[-1].id
    records[lost] = replace(records[lost], diverged_at=3)
    evidence = plan.study.evidence(plan, records)
    results = plan.study.results(plan, records, evidence)
    table = results.tables["runs"]
    assert table.groupby("seed")["fit"].all().to_dict() == {0: True, 1: False, 2: False}
    drawn = results.panels["loss_4x"].data.set_index("arm")
    assert drawn.loc["alpha 0.1", ["seeds", "fit"]].tolist() == [2, 1]
    assert drawn.loc["alpha 0.1", "median_fit"] == pytest.approx(0)
    [claim_data] = plan.study.claim_data(evidence, plan.study.count_trained(plan))
    fitting = claim_data.fitting
    assert fitting is not None
    assert (fitting.runs, fitting.finished, fitting.fit) == (6, 5, 2)
    assert (set(fitting.given["seed"]), set(claim_data.given["seed"])) == ({0}, {0, 1, 2})


def test_models_less_the_mean_of_those_that_fit():
    rows = pd.DataFrame({"setting": "s", "seed": 0, "sce": [1.0, 2.0, 6.0], "loss_to_4x": [1.0, 3.0, 8.0]})
    rows = rows.assign(variant=["a", "b", "c"], encoding=["a", "b", "c"], fit=[True, True, False])
    analysis = Correlations(["loss_to_4x"], ["sce"], 0.2)
    among = analysis.restrict(rows)
    assert among["sce_within"].tolist() == [-2, -1, 3]
    assert analysis.restrict(among[among["fit"]])["sce_within"].tolist() == [-0.5, 0.5]


def test_numbers_fit_by_their_training_loss():
    best, other = (ScalarRun.from_run(record(seed).config) for seed in (0, 1))
    level = constant_loss(best)
    runs = [
        replace(record(), config=config, training=pd.DataFrame({"step": [10], "loss": [factor * level]}))
        for config, factor in ((best, 0.9e-4), (other, 1.1e-4))
    ]
    table = pd.DataFrame({"id": [run.config.id for run in runs]})
    assert Scalar().fits(table, runs, 1e-4).tolist() == [True, False]
