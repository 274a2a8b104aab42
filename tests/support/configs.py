"""Configs of tests: Hydra composes one for each combination of groups, as in a sweep."""

import json
import re
from functools import cache
from typing import Any

from synthlab.language.run import LanguageRun
from synthlab.numbers.run import NumbersRun
from synthlab.runs.composition import Composer, compose, to_overrides
from synthlab.runs.run import resolve
from synthlab.sequences.run import SequencesRun

# Settings of runs that take no time.
QUICK = {"protocol": {"steps": 4, "batch": 4, "record_every": 2}, "evaluation": {"sequences": 8}, "test_length": 12}
# The same, of language models and of sequence tasks.
SHAPE = [
    *("protocol.steps=4", "protocol.batch=4", "protocol.record_every=2", "evaluation.sequences=8"),
    *("model.width=16", "model.heads=2", "model.depth=1"),
]
SMALL = ["train_length=8", "test_length=32", "evaluation.questions=4", *SHAPE]
SMALL_SEQUENCES = ["train_length=4", "test_length=8", "stop.every=2", "stop.sequences=8", *SHAPE]
# Overrides under which the loss is soon not finite.
EXPLOSIVE = ("protocol.optimizer=sgd", "protocol.lr=1e30", "protocol.steps=30", "model.norm=none")


def config(*overrides: str) -> NumbersRun:
    """The run that takes no time, with ``overrides``."""
    return resolve(composed(*to_overrides(QUICK), *overrides))


def _small(settings: list[str], task: str, overrides: tuple[str, ...]) -> Any:
    named = [] if any(each.startswith("task=") for each in overrides) else [task]
    return resolve(composed(*settings, *named, *overrides))


def small(*overrides: str) -> LanguageRun:
    return _small(SMALL, "task=text", overrides)


def small_sequences(*overrides: str) -> SequencesRun:
    return _small(SMALL_SEQUENCES, "task=majority", overrides)


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
