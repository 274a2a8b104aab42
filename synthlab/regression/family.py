"""Regression tasks: how their models are built, trained and tested (see ``training.family.Family``)."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import pandas as pd
import torch
from torch import Tensor, nn

from synthlab.models.layers import Member
from synthlab.models.linear_attention import LinearAttention
from synthlab.regression.baseline import constant_loss
from synthlab.regression.config import RunConfig
from synthlab.regression.construction import build_models, data, resolve
from synthlab.regression.evaluation import evaluate_lengths, measure_loss
from synthlab.regression.objective import Examples, PrefixRegression, length_weights
from synthlab.regression.tasks import TASKS
from synthlab.regression.trained import TrainedRegression
from synthlab.storage.records import Record
from synthlab.training.loop import Observer, Training, train_ensemble
from synthlab.training.stopping import find_stopped_step, train_until_fit

__all__ = ["TASKS", "build_models", "evaluate_model", "make_objective", "open_model", "resolve", "train_models"]


def make_objective(ensemble: nn.Module, configs: Sequence[RunConfig], device: str = "cpu") -> PrefixRegression:
    """The weighted squared error of each model of ``ensemble``, on the tasks of ``configs``."""
    examples = [
        Examples(
            *data(config),
            batch=config.protocol.batch,
            weights=length_weights(config.length_distribution, config.train_length),
            seed=config.data_seed,
        )
        for config in configs
    ]
    return PrefixRegression(ensemble, examples, device, _plan_weights(configs))


def _plan_weights(configs: Sequence[RunConfig]) -> Callable[[int], Tensor] | None:
    """Return what gives the weights [E, L] of the training lengths in each step, from 0 on; None without curriculum."""
    first = configs[0]
    if first.curriculum is None:
        return None
    find_longest = first.curriculum.find_longest

    @lru_cache(maxsize=1)  # many steps in a row have the same
    def weights_up_to(longest: int) -> Tensor:
        return torch.stack([length_weights(each.length_distribution, each.train_length, longest) for each in configs])

    return lambda step: weights_up_to(find_longest(step, first.protocol.steps, first.train_length))


def train_models(
    ensemble: nn.Module, configs: Sequence[RunConfig], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train initialized models of runs of one shape, each until it fits if the configs say so. Returns their training
    curves."""
    objective, stop = make_objective(ensemble, configs, device), configs[0].stop
    if stop is None or stop.loss is None:
        return train_ensemble(ensemble.parameters(), objective, [config.protocol for config in configs], observe)
    levels = [stop.loss * constant_loss(config) for config in configs]

    def fits(index: int) -> bool:
        return measure_loss(Member(ensemble, index), configs[index], stop.sequences) <= levels[index]

    return train_until_fit(ensemble, configs, objective, stop.every, fits, observe)


def evaluate_model(ensemble: nn.Module, index: int, config: RunConfig) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Every metric at every length for the model ``index``; and, for ``LinearAttention`` only, its output matrix M (2 x
    2, with BOS 2 x 3), else None."""
    member, how = Member(ensemble, index), config.evaluation.model_dump()
    metrics = evaluate_lengths(member, *data(config), config.test_length, **how, seed=config.test_seed)
    table = pd.DataFrame({"length": range(1, config.test_length + 1), **metrics})
    if not isinstance(ensemble, LinearAttention):
        return table, None
    outputs = ensemble.outputs()[index].detach().double().cpu().numpy()
    return table, pd.DataFrame(outputs, columns=["zero", "one", "bos"][: outputs.shape[1]])


def open_model(record: Record, step: int | None = None) -> TrainedRegression:
    """The trained model of a run, or what it was after ``step``; where it had stopped by then, as it stopped."""
    return TrainedRegression(record, find_stopped_step(record, step))
