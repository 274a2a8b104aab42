"""The papers on addition: their claims by hand, and the tables of their pages."""

from functools import partial

import pandas as pd
import pytest

from experiments.addition.claims import CLAIMS
from experiments.addition.paper import Addition, compare_methods, share_spread
from experiments.sequences.published import RANGE, read_published
from support.claims import answers_on, judge_on


def rows(exact: dict[str, list[list[float]]], fit: bool = True) -> pd.DataFrame:
    """Return runs trained to 5 digits: of each arm, for each seed, exact match to 5, to 10 and to 15 digits."""
    made = [
        {"arm": arm, "series": f"arm={arm}", "seed": seed, "first": last - 4, "last": last, "exact": each}
        for arm, seeds in exact.items()
        for seed, numbers in enumerate(seeds)
        for last, each in zip((5, 10, 15), numbers, strict=True)
    ]
    table = pd.DataFrame(made).assign(task="decimal", train_length=5, fit=fit, tokens=1.0, chance=0.0, horizon=5)
    return table.assign(run=table["arm"] + table["seed"].map(str), **{RANGE: 0})


judged, answers = partial(judge_on, CLAIMS), partial(answers_on, CLAIMS)


ADDS, HALF, FAILS = [[1.0, 1.0, 0.97]] * 5, [[1.0, 1.0, 0.5]] * 5, [[1.0, 0.2, 0.0]] * 5
OTHERS = dict.fromkeys(("nope", "random starts", "hints", "rope"), FAILS)


def test_claims_on_methods_by_hand():
    as_published = rows({"coupled": ADDS, "abacus": HALF, **OTHERS})
    assert [judged(claim, as_published).word for claim in ("C1", "C2", "C3", "A1", "O1")] == ["holds"] * 5
    half = rows({"coupled": HALF, "abacus": FAILS, **OTHERS})
    assert answers("C1", half) == ["holds", "fails"]
    assert (judged("C3", half).word, judged("A1", half).word) == ("holds", "fails")  # equal is not ahead
    assert answers("C2", rows({**OTHERS, "hints": ADDS})) == ["holds", "holds", "fails"]


def test_methods_that_do_not_fit_are_not_tested():
    coupled, others = rows({"coupled": ADDS}), rows(OTHERS, fit=False)
    runs = pd.concat([coupled, others])
    assert [judged(claim, runs).word for claim in ("C1", "C2", "C3")] == ["holds", "not tested", "not tested"]


def test_claims_on_spreads_by_hand():
    # Weights decide the last range: 0, 0.2, ... under all data.
    runs = rows({f"weights {arm}": [[1.0, 1.0, arm / 5]] * 5 for arm in range(5)})
    weights = judged("Z1", runs)
    assert weights.word == "holds"
    assert weights.checks[0].values == pytest.approx([-(0.08**0.5)] * 5)  # variance of 0, 0.2, ..., 0.8
    assert judged("Z2", runs).word == "fails"
    shares = share_spread(runs)[-1]
    assert (shares["weights"][:4], shares["data"][:4]) == ("1.00", "0.00")
    assert (shares["least"], shares["median"], shares["greatest"]) == ("0.000", "0.400", "0.800")


def test_methods_in_a_table():
    assert compare_methods(rows({"coupled": [[1.0, 1.0, 0.2], [1.0, 0.5, 0.4]]})) == [
        {
            "method": "coupled",
            "fit": "2 of 2",
            "1 to 5 digits": "1.000 [1.000, 1.000]",
            "6 to 10 digits": "0.750 [0.500, 1.000]",
            "11 to 15 digits": "0.300 [0.200, 0.400]",
        }
    ]


def test_published_numbers_have_an_arm_and_a_source():
    table = read_published(Addition.numbers).table()
    assert not table.duplicated(["task", "arm", "published_last"]).any()
    assert table.loc[table["arm"] == "coupled", "published"].tolist() == [0.951] * 3
