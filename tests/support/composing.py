"""Hydra's answers, kept: the tests compose the same configs again and again, for 0.15 s each."""

import copy
from functools import wraps

from synthlab.config import composition, families


def keep_what_is_composed() -> None:
    """Have ``composition.compose`` answer from memory what it was asked before, unless folders of a user's own are
    searched, whose files come and go. To be called before anything imports that function."""
    compose, kept = composition.compose, {}

    @wraps(compose)
    def remembered(overrides: list[str] = (), *given: object, **how: object) -> dict:
        asked = (*overrides, *given, *how.items())
        if families.own_folders or any(each.startswith("hydra.searchpath=") for each in overrides):
            return compose(overrides, *given, **how)
        if asked not in kept:
            kept[asked] = compose(overrides, *given, **how)
        return copy.deepcopy(kept[asked])

    composition.compose = remembered
