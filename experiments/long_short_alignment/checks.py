"""Checks for claims about arms: differences from the baseline arm."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from experiments.long_short_alignment.arms import baseline, by_depth, differences
from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence


def effects(runs: pd.DataFrame, arm: str, quantity: str) -> dict[str, np.ndarray]:
    """Return, by model, how far ``arm`` differs from the first arm in a quantity, for each seed. Raises NoEvidence."""
    found = differences(runs, quantity)
    found = found[found["arm"] == arm]
    if found.empty:
        raise NoEvidence(f"no runs of the arm '{arm}' to compare with '{baseline(runs)}'")
    return {str(model): rows[quantity].to_numpy() for model, rows in found.groupby("variant", sort=False)}


def checks(
    runs: pd.DataFrame,
    arms: Sequence[str],
    quantity: str,
    what: str,
    low: float = -np.inf,
    high: float = np.inf,
) -> list[Check]:
    """Return a check for each arm and model on the difference from the first arm."""
    return [
        Check(f"{model}, {arm}: {what}", values, low, high)
        for arm in arms
        for model, values in effects(runs, arm, quantity).items()
    ]


def recall_checks(
    runs: pd.DataFrame,
    arm: str,
    depths: Sequence[float],
    what: str,
    multiple: int = 1,
    low: float = -np.inf,
    high: float = np.inf,
) -> list[Check]:
    """Return a check for each model on the change of recall for facts at ``depths``.

    Recall is the proportion of right answers. The check is not tested if none of the runs of the ``arm`` fits: models
    that have not learned to recall cannot show where they forget.
    """
    found = []
    for model, values in _recall_effects(runs, arm, depths, multiple).items():
        untested = why_untested(runs, arm, model)
        found.append(Check(f"{model}: {what}", values, low, high, untested=untested))
    return found


def why_untested(runs: pd.DataFrame, arm: str, model: str) -> str:
    """Return why the runs of an arm cannot answer: none of them fits. Empty if one does, or if it is unknown."""
    mine = runs[(runs["arm"] == arm) & (runs["variant"] == model)]
    return "no run fits" if "fit" in mine and not mine["fit"].any() else ""


def recall_gains(runs: pd.DataFrame, arm: str, depths: Sequence[float], what: str) -> list[Check]:
    """Return a check for each model that recall in texts of four training lengths improves with an ``arm``.

    Recall that stays the same, as where all facts are recalled, is no gain.
    """
    return recall_checks(runs, arm, depths, what, 4, low=1e-9)


def _recall_effects(runs: pd.DataFrame, arm: str, depths: Sequence[float], multiple: int) -> Mapping[str, np.ndarray]:
    """Return, by model, the change of the proportion of right answers for facts at ``depths``, for each seed."""
    facts = by_depth(runs)
    chosen = facts[facts["depth"].isin(depths) & (facts["length"] == multiple * runs["train_length"].iloc[0])]
    if set(depths) - set(chosen["depth"]):
        raise NoEvidence(f"no questions at depths {', '.join(map(str, depths))} in {multiple} training lengths")
    keys = ["arm", "baseline", "variant", "seed"]
    return effects(chosen.groupby(keys, sort=False, as_index=False)["accuracy"].mean(), arm, "accuracy")
