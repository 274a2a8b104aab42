"""Regression tasks: how their models are built, trained and tested (see ``training.family.Family``)."""

from collections.abc import Sequence

import pandas as pd
from torch import nn

from synthlab.models.layers import Member
from synthlab.models.linear_attention import LinearAttention
from synthlab.regression.config import RunConfig
from synthlab.regression.construction import build_models, data, resolve
from synthlab.regression.evaluation import evaluate_lengths
from synthlab.regression.objective import Examples, PrefixRegression, length_weights
from synthlab.regression.tasks import TASKS
from synthlab.regression.trained import TrainedRegression
from synthlab.training.loop import Observer, Training, train_ensemble

__all__ = ["TASKS", "build_models", "evaluate_model", "make_objective", "open_model", "resolve", "train_models"]

open_model = TrainedRegression


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
    return PrefixRegression(ensemble, examples, device)


def train_models(
    ensemble: nn.Module, configs: Sequence[RunConfig], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train initialized models of runs of one shape. Returns their training curves."""
    objective = make_objective(ensemble, configs, device)
    return train_ensemble(ensemble.parameters(), objective, [config.protocol for config in configs], observe)


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
