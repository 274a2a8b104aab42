"""Checks that claims about arms are made of: differences from the arm that the others are held against."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from experiments.long_short_alignment.arms import baseline, by_depth, differences
from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence


def effects(runs: pd.DataFrame, arm: str, quantity: str) -> dict[str, np.ndarray]:
    """By model, how far ``arm`` differs from the first arm in a quantity, for each seed. Raises NoEvidence."""
    found = differences(runs, quantity)
    found = found[found["arm"] == arm]
    if found.empty:
        raise NoEvidence(f"no runs of {arm} beside those of {baseline(runs)}")
    return {str(model): rows[quantity].to_numpy() for model, rows in found.groupby("variant", sort=False)}


def checks(
    runs: pd.DataFrame, arms: Sequence[str], quantity: str, what: str, low: float = -np.inf, high: float = np.inf
) -> list[Check]:
    """A check for each arm and model on the difference from the first arm."""
    return [
        Check(f"{model}, {arm}: {what}", values, low, high)
        for arm in arms
        for model, values in effects(runs, arm, quantity).items()
    ]


def recall_effects(
    runs: pd.DataFrame, arm: str, depths: Sequence[float], multiple: int = 1
) -> Mapping[str, np.ndarray]:
    """By model, the change of the share of right answers for facts at ``depths``, for each seed."""
    facts = by_depth(runs)
    chosen = facts[facts["depth"].isin(depths) & (facts["length"] == multiple * runs["train_length"].iloc[0])]
    if set(depths) - set(chosen["depth"]):
        raise NoEvidence(f"no questions at depths {', '.join(map(str, depths))} in {multiple} training lengths")
    keys = ["arm", "baseline", "variant", "seed"]
    return effects(chosen.groupby(keys, sort=False, as_index=False)["accuracy"].mean(), arm, "accuracy")
