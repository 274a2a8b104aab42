"""Flip-flops of several densities: which models fit and generalize, and claims by hand."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

from experiments.flipflops.claims import CLAIMS
from experiments.flipflops.scores import by_arm, fit_in_training, least_right
from support.claims import judge_on
from synthlab.analysis.plotting import draw_intervals
from synthlab.analysis.series import style_of
from synthlab.studies.verdicts import Verdict

BINS = ((1, 10), (11, 20), (31, 40))


def runs(arms: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    """Runs of each arm and test: the share that each seed has right at training lengths, and 0.1 less at the last.

    A test that is left out has all right.
    """
    rows = []
    for arm, tests in arms.items():
        seeds = len(next(iter(tests.values())))
        for test, shares in ({name: [1.1] * seeds for name in ("longer", "sparse", "dense")} | tests).items():
            for seed, share in enumerate(shares):
                about = {"task": test, "arm": arm, "seed": seed, "run": f"{test}{arm}{seed}", "train_length": 10}
                for first, last in BINS:
                    exact = min(share, 1.0) if last < 40 else min(share - 0.1, 1.0)
                    rows.append({**about, "first": first, "last": last, "exact": exact, "fit": share >= 0.99})
    return fit_in_training(pd.DataFrame(rows))


def judged(claim: str, arms: dict[str, dict[str, list[float]]]) -> Verdict:
    return judge_on(CLAIMS, claim, runs(arms))


def test_a_model_fits_by_the_density_of_training():
    found = runs({"fox": {"longer": [1.1, 0.5], "sparse": [0.5, 1.1]}})
    assert found.groupby("seed")["fit"].agg(["min", "max"]).values.tolist() == [[True, True], [False, False]]
    far = least_right(found, 4).set_index("seed")["exact"]
    assert far.tolist() == pytest.approx([0.4, 1.0])
    table = by_arm(found).set_index(["task", "last"])
    assert table.loc[("sparse", 10), ["generalize", "fit", "models"]].tolist() == [0, 1, 2]
    assert table.loc[("dense", 40), "generalize"] == 1


def test_every_seed_can_be_refuted_by_few_and_shown_by_many():
    few = {"threshold": {"sparse": [0.5] * 3 + [1.1] * 2}}
    assert judged("threshold", few).word == "fails"
    (five, all_five) = judged("threshold", {"threshold": {"sparse": [1.1] * 5}}).checks
    assert five.answer == all_five.answer == "undecided"
    assert judged("threshold", {"threshold": {"sparse": [1.1] * 70}}).word == "holds"
    assert judged("threshold", {"threshold": {"longer": [0.5] * 5}}).word == "not tested"


def test_one_layer_and_gates_by_hand():
    poor, good = {"sparse": [0.6] * 8}, {"sparse": [1.1] * 8}
    assert judged("one_layer", {"rope one layer": poor, "fox one layer": poor}).word == "holds"
    assert judged("one_layer", {"rope one layer": poor, "fox one layer": good}).word == "fails in part"
    others = dict.fromkeys(("nope", "rope", "alibi"), poor)
    assert judged("gates", {"fox": good, "threshold": good} | others).word == "holds"
    assert judged("gates", {"fox": poor, "threshold": poor} | others).word == "fails"  # equal errors are no lead


def test_points_in_the_style_of_a_letter():
    axes = Figure().subplots()
    draw_intervals(axes, 0, 0.5, 0.4, 0.6, style_of("threshold"))  # its marker is $T$
    assert "$T$" in [line.get_marker() for line in axes.get_lines()]
