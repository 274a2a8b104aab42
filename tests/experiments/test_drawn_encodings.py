"""Sixty drawn encodings: the draw, and correlations over encodings by hand."""

import numpy as np
import pandas as pd
import pytest

from experiments.long_short_alignment.claims import CLAIMS
from experiments.long_short_alignment.drawn_encodings.analysis import compare, split_tasks, tabulate_predictors
from experiments.long_short_alignment.drawn_encodings.draw import FAMILIES, draw_encodings, find_family
from experiments.long_short_alignment.paper import PAPER
from support.figures import studies
from synthlab.studies.overrides import Overrides
from synthlab.studies.verdicts import ClaimData, judge


def test_the_draw_has_all_families_at_both_scales():
    text, numbers = (draw_encodings(5, 0, train, test) for train, test in ((64, 256), (10, 50)))
    assert list(text) == list(numbers)
    families = pd.Series([find_family(name) for name in text]).value_counts()
    assert families.to_dict() == dict.fromkeys((*FAMILIES, "without settings"), 5)
    slopes = [text[f"alibi {number}"]["encoding.slope"] for number in range(1, 6)]
    # a fifth of the range from 1/16 to 16 each, whose logarithm to base 2 is -4 to 4
    assert np.floor((np.log2(slopes) + 4) / 8 * 5).tolist() == [0, 1, 2, 3, 4]
    assert slopes == [numbers[f"alibi {number}"]["encoding.slope"] for number in range(1, 6)]
    assert text["window 5"]["encoding.width"] / 64 == pytest.approx(numbers["window 5"]["encoding.width"] / 10, abs=0.1)
    assert draw_encodings(5, 1, 64, 256)["rope 1"] != text["rope 1"]


@pytest.mark.slow
def test_every_drawn_encoding_can_be_trained_and_tested():
    for name, study in studies(PAPER, "encodings").items():
        plan = study.plan(name, Overrides(), seeds=1)  # composes and checks each run
        assert len(plan.cells[""]) == 60 * (3 if name == "encodings_numbers" else 1)


def drawn(sce: float, loss: float) -> pd.DataFrame:
    """Two seeds of 24 encodings in six families: their outcome is that of these weights, their seeds' noise cancels."""
    names = [f"{family} {number}" for number in range(4) for family in list(FAMILIES)[:6]]
    generator = np.random.default_rng(0)
    x, y = generator.permutation(24.0 * np.arange(24)), generator.permutation(24.0 * np.arange(24))
    units = pd.DataFrame({"encoding": names, "sce": x, "excess": x, "excess_scaled": -x, "loss_1x": y})
    units = units.assign(loss_4x=sce * x + loss * y, series=[find_family(name) for name in names], task="text")
    units = units.assign(family=units["series"])
    return pd.concat([units.assign(seed=seed, sce=units["sce"] + noise) for seed, noise in enumerate((-100, 100))])


def test_an_encoding_is_one_observation():
    (units,) = split_tasks(drawn(1, 0)).values()
    assert len(units) == 24
    found = compare(units, "sce", "loss_4x")
    assert found["value"] == pytest.approx(1)  # the noise of seeds is averaged out
    assert (found["encodings"], found["families"]) == (24, 6)
    assert found["lead_low_without_one"] <= found["lead_low"] < found["lead"] < found["lead_high"]


def test_a_page_has_ranks_within_families_too():
    # in each family the outcome rises by rank with the misalignment, and falls with it over families
    names = [f"{family} {number}" for family in ("rope", "alibi", "t5", "fire", "window") for number in range(5)]
    x = np.arange(25.0)
    units = pd.DataFrame({"encoding": names, "sce": x, "excess": x, "loss_1x": x[::-1], "loss_4x": x % 5 - x // 5 * 10})
    units = units.assign(series=[find_family(name) for name in names], task="text", seed=0)
    beyond, _, training = tabulate_predictors(units.assign(family=units["series"]))
    assert beyond["within families"].startswith("1.00 ")
    assert beyond["all"].startswith("-0.9")
    assert training["within families"].startswith("-1.00 ")


def test_claims_by_hand():
    def answers(sce: float, loss: float) -> list[list[str]]:
        claim_data = [ClaimData(["E1", "E2"], drawn(sce, loss))]
        verdicts = judge([CLAIMS["E1"], CLAIMS["E2"]], "by hand", claim_data)
        estimate = verdicts[0].checks[0].estimate
        assert estimate is not None
        assert (estimate.number, estimate.of) == (24, "encodings")
        return [[check.answer for check in verdict.checks] for verdict in verdicts]

    assert answers(1, 0) == [["holds", "holds", "fails"]] * 2
    assert answers(0, 1)[1] == ["fails"] * 3
