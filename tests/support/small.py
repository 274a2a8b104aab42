"""Runs that take no time, of language models and of tasks whose answers are tokens."""

from typing import Any

from support.configs import composed
from synthlab.config.base import resolve
from synthlab.language.config import LanguageConfig
from synthlab.sequences.config import SequencesConfig

SHAPE = [
    *("protocol.steps=4", "protocol.batch=4", "protocol.record_every=2", "evaluation.sequences=8"),
    *("model.width=16", "model.heads=2", "model.depth=1"),
]
SMALL = ["train_length=8", "test_length=32", "evaluation.questions=4", *SHAPE]
SMALL_SEQUENCES = ["train_length=4", "test_length=8", "stop.every=2", "stop.sequences=8", *SHAPE]


def _small(settings: list[str], task: str, overrides: tuple[str, ...]) -> Any:
    named = [] if any(each.startswith("task=") for each in overrides) else [task]
    return resolve(composed(*settings, *named, *overrides))


def small(*overrides: str) -> LanguageConfig:
    """The language model that overrides of the small one describe."""
    return _small(SMALL, "task=text", overrides)


def small_sequences(*overrides: str) -> SequencesConfig:
    """The run of a sequence task that overrides of the small one describe."""
    return _small(SMALL_SEQUENCES, "task=majority", overrides)
