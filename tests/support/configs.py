"""Configs of tests: Hydra composes one for each combination of groups, as in a sweep."""

import json
import re
from functools import cache

from synthlab.config.base import resolve
from synthlab.config.composition import Composer, compose, to_overrides
from synthlab.regression.config import RunConfig

# Settings of runs that take no time.
QUICK = {"protocol": {"steps": 4, "batch": 4, "record_every": 2}, "evaluation": {"sequences": 8}, "test_length": 12}
# Overrides under which the loss is soon not finite.
EXPLOSIVE = ("protocol.optimizer=sgd", "protocol.lr=1e30", "protocol.steps=30", "model.norm=none")


def config(*overrides: str) -> RunConfig:
    """The run that takes no time, with ``overrides``."""
    return resolve(composed(*to_overrides(QUICK), *overrides))


def composed(*overrides: str) -> dict:
    """What Hydra composes of ``overrides``, in a hundredth of the time where they are plain."""
    try:
        return _composer().compose(dict(map(_setting, overrides)))
    except ValueError:  # not plain, or refused, which Hydra words
        return compose(list(overrides))


@cache
def _composer() -> Composer:
    return Composer()


def _setting(override: str) -> tuple[str, float | str | None]:
    """Key and value of an override whose value is a word, a number, true, false or null; raises ValueError."""
    key, _, text = override.partition("=")
    is_plain = re.fullmatch(r"[a-z][\w.]*=([a-z]\w*|\w+(\.\w+)+:\w+|-?\d[\d.e+-]*)", override)
    if not is_plain or text in ("nan", "inf"):
        raise ValueError(override)
    return key, json.loads(text) if text in ("true", "false", "null") or not text[0].isalpha() else text
