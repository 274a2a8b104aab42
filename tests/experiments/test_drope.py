"""Positions dropped or interleaved: the claims by hand, and equal steps in all arms."""

import pandas as pd

from experiments.drope.claims import CLAIMS
from experiments.drope.paper import PAPER
from experiments.long_short_alignment.studies import AlignmentStudy
from support.claims import judge_on
from support.figures import studies


def words(near: dict[str, float], far: dict[str, float]) -> list[str]:
    """The words on P1 to P3, for five seeds that are alike, with the loss of each arm within the window and far out."""
    rows = [
        {"arm": arm, "seed": seed, "loss_1x": near.get(arm, 2.0), "loss_8x": loss}
        for arm, loss in far.items()
        for seed in range(5)
    ]
    return [judge_on(CLAIMS, name, pd.DataFrame(rows)).word for name in CLAIMS]


OTHERS = {"PI": 2.5, "NTK": 2.6, "YaRN": 2.4}


def test_the_claims_by_hand():
    best = {**OTHERS, "RoPE": 3.0, "NoPE": 2.3, "DroPE": 2.2, "interleaved, windows": 2.1}
    assert words({"DroPE": 2.005}, best) == ["holds"] * 3
    worst = {**OTHERS, "RoPE": 2.0, "NoPE": 2.0, "DroPE": 2.6, "interleaved, windows": 2.0}
    assert words({"DroPE": 2.02}, worst) == ["fails"] * 3  # equal losses are no lead


def test_all_arms_train_for_equally_many_steps():
    for study in studies(PAPER, "default").values():
        assert isinstance(study, AlignmentStudy)
        fixed = study.fixed["protocol.steps"]
        for arm, settings in study.arms.items():
            assert settings.get("protocol.steps", fixed) + settings.get("finetune.steps", 0) == fixed, arm
