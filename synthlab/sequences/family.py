"""The family of sequence tasks: building, training and testing their models (see ``training.family.Family``)."""

from collections.abc import Sequence

import pandas as pd
from torch import nn

from synthlab.models.encodings.base import encoding_of
from synthlab.models.layers import Member
from synthlab.rng import stream
from synthlab.sequences.config import SequencesConfig
from synthlab.sequences.construction import KINDS, build_models, build_problem, measure_laws, resolve
from synthlab.sequences.evaluation import Scorer, by_bin, measure_fit, score_lengths
from synthlab.sequences.objective import AnswerLoss
from synthlab.sequences.tasks import PROBLEMS as TASKS
from synthlab.sequences.trained import TrainedSequences
from synthlab.storage.records import Record
from synthlab.training.loop import Observer, Training, train_ensemble
from synthlab.training.stopping import find_stopped_step, train_until_fit

__all__ = [
    "KINDS",
    "TASKS",
    "build_models",
    "evaluate_model",
    "make_objective",
    "measure_laws",
    "open_model",
    "resolve",
    "train_models",
]


make_objective = AnswerLoss


def train_models(
    ensemble: nn.Module, configs: Sequence[SequencesConfig], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train initialized models, each until it fits if the configs say so; return their training curves."""
    objective, stop = make_objective(ensemble, configs, device), configs[0].stop
    exact = stop.exact
    if exact is None:
        return train_ensemble(ensemble.parameters(), objective, [config.protocol for config in configs], observe)

    def fits(index: int) -> bool:
        return measure_fit(ensemble, index, configs[index]) >= exact

    return train_until_fit(ensemble, configs, objective, stop.every, fits, observe)


def evaluate_model(ensemble: nn.Module, index: int, config: SequencesConfig) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the ``METRICS`` at every length; and those of the training lengths and bins, with the horizon."""
    places = stream(config.test_seed, "evaluation_positions")
    scorer = Scorer(Member(ensemble, index), encoding_of(ensemble), build_problem(config.task), places)
    metrics, outputs = score_lengths(scorer, config)
    return metrics, by_bin(metrics, outputs, config)


def open_model(record: Record, step: int | None = None) -> TrainedSequences:
    """Return the trained model of a run, or the model as it was after ``step``, or when it stopped before."""
    return TrainedSequences(record, find_stopped_step(record, step))
