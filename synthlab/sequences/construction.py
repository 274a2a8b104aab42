"""Construction of a run's task and models."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from synthlab.models.building import build_ensemble
from synthlab.models.encodings import ENCODINGS
from synthlab.models.language_model import MODELS
from synthlab.positions.samplers import SAMPLERS
from synthlab.rng import stream
from synthlab.runs.registry import Registry
from synthlab.sequences.run import SequencesRun
from synthlab.sequences.task import SequenceTask
from synthlab.sequences.tasks import TASKS

GROUPS: dict[str, Registry[Any]] = {"task": TASKS, "encoding": ENCODINGS, "model": MODELS, "positions": SAMPLERS}


def build_problem(member: Mapping[str, Any]) -> SequenceTask:
    """Return the task that a run names. Raises InputError."""
    return TASKS.build(member)


def build_models(configs: Sequence[SequencesRun]) -> nn.Module:
    """Initialize the models of runs of one shape, as one ensemble. Raises InputError for sizes that do not fit."""
    generators = [stream(config.weight_seed, "initial") for config in configs]
    return build_ensemble(MODELS, configs, generators, build_problem(configs[0].task).vocabulary)
