"""Hydra's answers, kept: the tests compose the same configs again and again, for 0.15 s each."""

import copy
from functools import wraps

from hydra.core.global_hydra import GlobalHydra

from synthlab.config import composition


def keep_what_is_composed() -> None:
    """Have ``composition.compose`` answer from memory what it was asked before, unless folders of a user's own are
    searched, whose files come and go. To be called before anything imports that function."""
    compose, kept = composition.compose, {}

    @wraps(compose)
    def remembered(overrides: list[str], name: str = "config") -> dict:
        asked = (*overrides, name)
        if _searches_elsewhere() or any(given.startswith("hydra.searchpath=") for given in overrides):
            return compose(overrides, name)
        if asked not in kept:
            kept[asked] = compose(overrides, name)
        return copy.deepcopy(kept[asked])

    composition.compose = remembered


def _searches_elsewhere() -> bool:
    """Whether the Hydra application that runs, if one does, was given config files of the user's own."""
    if not GlobalHydra.instance().is_initialized():
        return False
    path = GlobalHydra.instance().config_loader().get_search_path().get_path()
    return any(each.provider == "command-line" for each in path)  # as Hydra calls what --config-dir adds
