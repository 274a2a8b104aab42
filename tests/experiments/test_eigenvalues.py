"""Negative eigenvalues: scaled accuracy and claims by hand."""

import pandas as pd
import pytest

from experiments.eigenvalues.claims import CLAIMS
from experiments.eigenvalues.message import read_published
from experiments.eigenvalues.scores import by_arm
from experiments.sequences.published import RANGE
from support.claims import judge_on
from synthlab.studies.verdicts import Verdict

RANGES = {(11, 20): 1.0, (31, 40): 0.96, (91, 100): 0.92}  # of a model that generalizes: the share right


def runs(arms: dict[str, tuple[bool, bool]]) -> pd.DataFrame:
    """Runs trained to 10, of each arm: whether its eight runs fit, and whether they generalize or are at chance."""
    rows = []
    for arm, (fits, generalizes) in arms.items():
        for seed in range(8):
            about = {"task": "parity", "arm": arm, "series": arm, "seed": seed, "run": f"{arm}{seed}", "fit": fits}
            exact = {(1, 10): 1.0 if fits else 0.6} | {at: far if generalizes else 0.5 for at, far in RANGES.items()}
            for (first, last), share in exact.items():
                where = {"first": first, "last": last, "train_length": 10, RANGE: 0, "chance": 0.5}
                rows.append({**about, **where, "exact": share})
    return pd.DataFrame(rows)


def judged(claim: str, arms: dict[str, tuple[bool, bool]]) -> Verdict:
    return judge_on(CLAIMS, claim, runs(arms))


SOLVED, LEARNED, UNFIT = (True, True), (True, False), (False, False)
AS_PUBLISHED = {"delta": LEARNED, "delta negative": SOLVED, "mamba": LEARNED, "mamba negative": SOLVED}


def test_scaled_accuracy_by_hand():
    table = by_arm(runs({"gru": SOLVED, "nope": UNFIT})).set_index(["arm", "last"])
    assert table.loc[("gru", 40), "median"] == pytest.approx(0.92)  # 0.96 right, 0.5 by chance
    assert table.loc[("nope", 100), ["median", "fit", "runs"]].tolist() == [0, 0, 8]
    assert table["median_fit"].isna().tolist() == [False] * 4 + [True] * 4


def test_parity_as_published_and_otherwise():
    assert judged("parity", AS_PUBLISHED).word == judged("improve", AS_PUBLISHED).word == "holds"
    assert judged("parity", AS_PUBLISHED | {"delta": SOLVED}).word == "fails in part"
    assert judged("improve", AS_PUBLISHED | {"delta": SOLVED, "mamba": SOLVED}).word == "fails"  # equal is no gain
    # Models with (0, 1) that have not learned parity do not show that it is not solved.
    answers = [check.answer for check in judged("parity", AS_PUBLISHED | {"delta": UNFIT}).checks]
    assert answers.count("not tested") == 1
    assert judged("improve", {"delta": LEARNED, "delta negative": UNFIT}).word == "not tested"


def test_fewer_right_than_by_guessing_is_no_less_than_guessing():
    guessing = runs({"delta": LEARNED, "delta negative": LEARNED})
    guessing.loc[(guessing["arm"] == "delta") & (guessing["first"] > 10), "exact"] = 0.3
    assert judge_on(CLAIMS, "improve", guessing).word == "fails"


def test_recurrent_networks_and_transformers():
    transformers = dict.fromkeys(("nope", "rope", "alibi", "fox"), LEARNED)
    assert judged("regular", {"lstm": SOLVED, "gru": SOLVED} | transformers).word == "holds"
    assert judged("regular", {"lstm": SOLVED, "gru": SOLVED} | transformers | {"rope": SOLVED}).word == "fails in part"
    assert judged("regular", {"delta": SOLVED}).word == "not tested"


def test_published_scores():
    published = read_published()
    assert published["parity", "delta"] < 0.1 < 0.9 < published["parity", "delta negative"]
