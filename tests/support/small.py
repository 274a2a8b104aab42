"""Language models that take no time."""

from support.configs import composed
from synthlab.language.config import LanguageConfig
from synthlab.language.construction import resolve

SMALL = [
    "train_length=8",
    "test_length=32",
    "protocol.steps=4",
    "protocol.batch=4",
    "protocol.record_every=2",
    "evaluation.sequences=8",
    "evaluation.questions=4",
    "model.width=16",
    "model.heads=2",
    "model.depth=1",
]


def small(*overrides: str) -> LanguageConfig:
    """The language model that overrides of the small one describe."""
    task = [] if any(each.startswith("task=") for each in overrides) else ["task=text"]
    return resolve(composed(*SMALL, *task, *overrides))
