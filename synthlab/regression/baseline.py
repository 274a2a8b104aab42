"""The loss of the best constant prediction, which ignores the input."""

import json
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from synthlab.regression.config import RunConfig
from synthlab.regression.construction import data
from synthlab.regression.inputs import INPUTS
from synthlab.regression.objective import length_weights
from synthlab.regression.outrep import Chosen, OutRep
from synthlab.regression.tasks import TASKS
from synthlab.rng import stream

SEQUENCES = 4096  # enough for a target variance within about 2 % of the true one
SYMBOLS = 2**22  # the most symbols of all sequences together: long sequences are fewer


def constant_loss(config: RunConfig) -> float:
    """Return the lowest training loss of a model that gives the same output for all sequences of all lengths.

    That is the variance of the targets in representation space, the same for all seeds. For a learned map it is that of
    the map before training, for a chosen map the least of all candidates.
    """
    task, inputs, outrep = data(config)
    weights = length_weights(config.length_distribution, config.train_length).double()
    y = task.targets(inputs.draw(SEQUENCES, len(weights), stream(0, "training"))).double()
    maps = outrep.maps if isinstance(outrep, Chosen) else [outrep]
    return min(_variance(each, y, weights) for each in maps)


@torch.no_grad()
def _variance(outrep: OutRep, y: Float[Tensor, "B L"], weights: Float[Tensor, " L"]) -> float:
    """Return the variance of the mapped targets, weighted as in the loss."""
    targets = outrep.forward(y)
    mean = (targets.mean(0) * weights).sum()
    scale = float(outrep.loss_scale(y[None], weights[None, None]))
    return scale * float(((targets - mean).square().mean(0) * weights).sum())


def constant_errors(config: RunConfig) -> Float[np.ndarray, " L"]:
    """Return the mean squared error at each test length of the best constant prediction for training sequences.

    It is in the units of the target, and the same for all maps and seeds.
    """
    members = json.dumps([config.task, config.inputs])
    return _constant_errors(members, config.length_distribution, config.train_length, config.test_length).copy()


@lru_cache(maxsize=32)  # a sweep asks for each of its runs
def _constant_errors(members: str, distribution: str, train_length: int, test_length: int) -> Float[np.ndarray, " L"]:
    of_task, of_inputs = json.loads(members)
    task, inputs = TASKS.build(of_task), INPUTS.build(of_inputs)
    weights = length_weights(distribution, train_length).double()
    longest = max(train_length, test_length)
    x = inputs.draw(min(SEQUENCES, -(-SYMBOLS // longest)), longest, stream(0, "training"))
    targets = task.targets(x).double()
    constant = (targets[:, :train_length].mean(0) * weights).sum() / weights.sum()  # the weights are rounded
    return (targets[:, :test_length] - constant).square().mean(0).numpy()
