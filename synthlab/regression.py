"""Runs on tasks with a number for an answer: how their models are built, trained and tested."""

from collections.abc import Sequence

import pandas as pd
from torch import nn

from synthlab.assembly import build_models, data
from synthlab.config import RunConfig
from synthlab.evaluation import evaluate
from synthlab.layers import Member
from synthlab.linear_attention import LinearAttention
from synthlab.metrics import METRICS
from synthlab.objective import Examples, PrefixRegression, length_weights
from synthlab.training import Observer, Training, train

__all__ = ["METRICS", "build_models", "objective_of", "tested", "train_stack"]


def objective_of(stack: nn.Module, configs: Sequence[RunConfig], device: str = "cpu") -> PrefixRegression:
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


def train_stack(
    stack: nn.Module, configs: Sequence[RunConfig], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train the freshly built models of runs of one shape, and say how each one's training went. ``observe`` may look
    at ``stack``, which is at each point as far as its training is."""
    objective = objective_of(stack, configs, device)
    return train(stack.parameters(), objective, [config.protocol for config in configs], observe)


def tested(stack: nn.Module, index: int, config: RunConfig) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Every metric at every length of the stack's model ``index``; and all that one of the theory's models computes, in
    four numbers, or six with BOS, None for models that take more."""
    metrics = evaluate(Member(stack, index), *data(config), config.test_length, **config.evaluation.model_dump())
    table = pd.DataFrame({"length": range(1, config.test_length + 1), **metrics})
    if not isinstance(stack, LinearAttention):
        return table, None
    outputs = stack.outputs()[index].detach().double().cpu().numpy()
    return table, pd.DataFrame(outputs, columns=["zero", "one", "bos"][: outputs.shape[1]])
