"""Models of tasks whose answers are tokens, that take no time."""

from support.configs import composed
from synthlab.sequences.config import SequencesConfig
from synthlab.sequences.construction import resolve

SMALL = [
    "train_length=4",
    "test_length=8",
    "protocol.steps=4",
    "protocol.batch=4",
    "protocol.record_every=2",
    "evaluation.sequences=8",
    "stop.every=2",
    "stop.sequences=8",
    "model.width=16",
    "model.heads=2",
    "model.depth=1",
]


def small(*overrides: str) -> SequencesConfig:
    """The run that overrides of the small one describe."""
    task = [] if any(each.startswith("task=") for each in overrides) else ["task=majority"]
    return resolve(composed(*SMALL, *task, *overrides))
