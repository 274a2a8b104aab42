"""Error by length, on test sequences that are the same for every model of one seed and test length.

The error, and the loss, of the best constant prediction, which ignores the input, is a level to compare with.
"""

import json
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from synthlab.models.encodings.base import stack_positions
from synthlab.models.layers import Member, Members
from synthlab.models.packing import ENDS
from synthlab.numbers.construction import data
from synthlab.numbers.inputs import INPUTS, InputDistribution
from synthlab.numbers.objective import length_weights
from synthlab.numbers.outrep import Chosen, OutRep
from synthlab.numbers.run import NumbersRun
from synthlab.numbers.tasks import TASKS, NumberTask
from synthlab.rng import stream

SEQUENCES = 4096  # of a constant's error: enough for a target variance within about 2 % of the true one
SYMBOLS = 2**22  # the most symbols of all of them together: long sequences are fewer
ENTRIES = 2**17  # attention logits of a head in one pass: they fit a core's cache (measured: 1.7x as fast as 2**21)


def test_sequences(inputs: InputDistribution, sequences: int, length: int, seed: int) -> Int[Tensor, "B L"]:
    """Return the test sequences of ``seed``, the same for every model tested to ``length``."""
    return inputs.draw(sequences, length, stream(seed, "evaluation"))


def measure_outputs(
    outputs: Float[Tensor, "*M B L"], x: Int[Tensor, "*M B L"], task: NumberTask, outrep: OutRep, largest: float
) -> dict[str, Float[np.ndarray, "*M L"]]:
    """Return every metric at every length, from the outputs of a model, or of M models, for every prefix of ``x``.

    Metrics are computed in double precision. Outputs outside the range of the map, for targets up to ``largest``, are
    clipped (``OutRep.clip``).
    """
    z, y = outputs.double(), task.targets(x.flatten(0, -2)).view(x.shape).double()
    clipped = outrep.clip(z, largest)
    error = outrep.inverse(clipped) - y
    metrics = {
        "mse": error.square().mean(-2),
        "mse_rep": (z - outrep.forward(y)).square().mean(-2),
        # A ratio of means, not a mean of ratios: a target can be 0 (the sum or mean of 00...0).
        "relative_error": error.abs().mean(-2) / y.abs().mean(-2),
        "bias": error.mean(-2),
        "clipped": (z != clipped).double().mean(-2),
    }
    return {name: values.cpu().numpy() for name, values in metrics.items()}


@torch.no_grad()
def measure_loss(model: Member, config: NumbersRun, outrep: OutRep, sequences: int) -> float:
    """Return the training loss of a model with the map ``outrep``, in representation space.

    It is over all training lengths of ``sequences`` training sequences, the same ones in each call.
    """
    (task, inputs, _), generator = data(config), stream(config.data_seed, "calibration")
    x = inputs.draw(sequences, config.train_length, generator)
    y = task.targets(x).double()
    error = readouts(model, x, generator).double() - outrep.forward(y)
    weights = length_weights(config.length_distribution, config.train_length).double()
    scale = float(outrep.loss_scale(y[None], weights[None, None]))
    return scale * float((error.square().mean(0) * weights).sum())


def readouts(model: Members, x: Int[Tensor, "*M B L"], *generators: torch.Generator) -> Float[Tensor, "*M B L"]:
    """Return the output of a model, or of M models with as many ``generators``, for every prefix of every row.

    This takes one pass over all lengths or, if prefixes cannot share a packed row (``Encoding.packs``), a pass for each
    length.
    """
    length = x.shape[-1]
    rows = rows_in_one_pass(length)
    if model.encoding.packs:
        return run_in_passes(model, x, None, rows)
    outputs = []
    for k in range(1, length + 1):
        ends = torch.full((len(generators), x.shape[-2]), k + ENDS)
        drawn = stack_positions(model.encoding, ends, k + ENDS, generators)
        positions = None if drawn is None else drawn.view(*x.shape[:-1], -1)
        outputs.append(run_in_passes(model, x[..., :k], positions, rows)[..., -1])
    return torch.stack(outputs, -1)


def rows_in_one_pass(length: int) -> int:
    """Return how many sequences of ``length`` symbols a model processes at once."""
    return max(1, ENTRIES // length**2)


def run_in_passes(
    model: Members, x: Int[Tensor, "*M B L"], positions: Int[Tensor, "*M B P"] | None, rows: int
) -> Float[Tensor, "*M B L"]:
    """Return the output of a model, or of M models, for every prefix of every row, in batches of ``rows``.

    ``positions`` are those of the whole row.
    """
    if positions is None:
        return torch.cat([model(part) for part in x.split(rows, -2)], -2)
    parts = zip(x.split(rows, -2), positions.split(rows, -2), strict=True)
    return torch.cat([model(part, where) for part, where in parts], -2)


def constant_loss(config: NumbersRun) -> float:
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


def constant_errors(config: NumbersRun) -> Float[np.ndarray, " L"]:
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


def find_chance(config: NumbersRun, metrics: pd.DataFrame) -> Sequence[float] | None:
    """Return the squared error of the best constant prediction at each test length.

    Return None for classes of the user, since reading a record must not import them.
    """
    if config.task["name"] not in TASKS or config.inputs["name"] not in INPUTS:
        return None
    return constant_errors(config)[metrics["length"].to_numpy() - 1].tolist()
