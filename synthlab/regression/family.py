"""Runs on tasks with a number for an answer: how their models are built, trained and tested."""

from collections.abc import Sequence

import pandas as pd
from torch import nn

from synthlab.metrics import METRICS
from synthlab.models.layers import Member
from synthlab.models.linear_attention import LinearAttention
from synthlab.regression.config import RunConfig
from synthlab.regression.construction import build_models, data
from synthlab.regression.evaluation import evaluate
from synthlab.regression.objective import Examples, PrefixRegression, length_weights
from synthlab.training.loop import Observer, Training, train

__all__ = ["METRICS", "build_models", "evaluate_model", "make_objective", "train_models"]


def make_objective(stack: nn.Module, configs: Sequence[RunConfig], device: str = "cpu") -> PrefixRegression:
    """What the models of ``stack`` minimize as ``configs`` say."""
    examples = [
        Examples(
            *data(config),
            batch=config.protocol.batch,
            weights=length_weights(config.length_distribution, config.train_length),
            seed=config.seed,
        )
        for config in configs
    ]
    return PrefixRegression(stack, examples, device)


def train_models(
    stack: nn.Module, configs: Sequence[RunConfig], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train the freshly built models of runs of one shape, and say how each one's training went. ``observe`` may look
    at ``stack``, which is at each point as far as its training is."""
    objective = make_objective(stack, configs, device)
    return train(stack.parameters(), objective, [config.protocol for config in configs], observe)


def evaluate_model(stack: nn.Module, index: int, config: RunConfig) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Every metric at every length of the stack's model ``index``; and all that one of the theory's models computes, in
    four numbers, or six with BOS, None for models that take more."""
    metrics = evaluate(Member(stack, index), *data(config), config.test_length, **config.evaluation.model_dump())
    table = pd.DataFrame({"length": range(1, config.test_length + 1), **metrics})
    if not isinstance(stack, LinearAttention):
        return table, None
    outputs = stack.outputs()[index].detach().double().cpu().numpy()
    return table, pd.DataFrame(outputs, columns=["zero", "one", "bos"][: outputs.shape[1]])
