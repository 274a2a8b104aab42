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
from torch import Tensor, nn

from synthlab.models.encodings.base import stack_positions
from synthlab.models.layers import Member, Members
from synthlab.models.linear_attention import LinearAttention
from synthlab.models.packing import ENDS
from synthlab.numbers.objective import length_weights
from synthlab.numbers.outrep import Chosen, OutRep, build_map, map_of
from synthlab.numbers.run import NumbersRun
from synthlab.numbers.tasks import INPUTS, TASKS, InputDistribution, NumberTask
from synthlab.rng import gather, stream
from synthlab.runs.sources import is_user_class
from synthlab.training.family import tabulate

SEQUENCES = 4096  # of a constant's error: enough for a target variance within about 2 % of the true one
SYMBOLS = 2**22  # the most symbols of all of them together: long sequences are fewer
ENTRIES = 2**17  # attention logits of a head in one pass: they fit a core's cache (measured: 1.7x as fast as 2**21)


@torch.no_grad()
def evaluate_models(
    ensemble: nn.Module, indices: Sequence[int], configs: Sequence[NumbersRun]
) -> list[tuple[pd.DataFrame, pd.DataFrame | None]]:
    """Return every metric at every length for each of the models ``indices``, and a table or None.

    The table is for ``LinearAttention`` its output matrix M (2 x 2, with BOS 2 x 3), for a chosen map the score of each
    candidate.
    """
    models, first, outrep = Members(ensemble, indices), configs[0], getattr(ensemble, "outrep", None)
    task, inputs = TASKS.build(first.task), INPUTS.build(first.inputs)
    # A user's code may expect a CPU.
    device = "cpu" if is_user_class(first.task["name"]) or is_user_class(first.outrep["name"]) else models.device
    shape = first.evaluation.sequences, first.test_length
    generators = [stream(each.test_seed, "evaluation") for each in configs]
    together = None if is_user_class(first.inputs["name"]) else gather(generators, device)
    if together is None:
        x = torch.stack([inputs.draw(*shape, generator).to(device) for generator in generators])  # M B L
    else:
        x = inputs.draw(*shape, together)
    outputs = readouts(models, x, *(stream(each.test_seed, "evaluation_positions") for each in configs))
    size = len(indices) if outrep is None else 1  # the number of models that have one map
    metrics = list[pd.DataFrame]()
    for index, part, of_part in zip(indices[::size], outputs.split(size), x.split(size), strict=True):
        measured = measure_outputs(part, of_part, task, map_of(ensemble, index, first), first.evaluation.largest)
        metrics += tabulate(measured)
    tables: list[pd.DataFrame | None] = [None] * len(indices)
    if isinstance(ensemble, LinearAttention):
        matrices = ensemble.outputs()[indices].detach().double().cpu().numpy()
        tables = [pd.DataFrame(each, columns=["zero", "one", "bos"][: each.shape[1]]) for each in matrices]
    elif isinstance(outrep, Chosen):
        tables = [pd.DataFrame([outrep.scores[index].tolist()], columns=outrep.names) for index in indices]
    return list(zip(metrics, tables, strict=True))


def test_sequences(inputs: InputDistribution, sequences: int, length: int, seed: int) -> Int[Tensor, "B L"]:
    """Return the test sequences of ``seed``, the same for every model tested to ``length``."""
    return inputs.draw(sequences, length, stream(seed, "evaluation"))


def readouts(model: Members, x: Int[Tensor, "*M B L"], *generators: torch.Generator) -> Float[Tensor, "*M B L"]:
    """Return the output of a model, or of M models with as many ``generators``, for every prefix of every row.

    This takes one pass over all lengths or, if prefixes cannot share a packed row (``Encoding.packs``), a pass for each
    length.
    """
    length = x.shape[-1]
    if model.encoding.packs:
        return run_in_passes(model, x, None, length)
    outputs = []
    for k in range(1, length + 1):
        ends = torch.full((len(generators), x.shape[-2]), k + ENDS)
        drawn = stack_positions(model.encoding, ends, k + ENDS, generators)
        positions = None if drawn is None else drawn.view(*x.shape[:-1], -1)
        outputs.append(run_in_passes(model, x[..., :k], positions, length)[..., -1])
    return torch.stack(outputs, -1)


def run_in_passes(
    model: Members, x: Int[Tensor, "*M B L"], positions: Int[Tensor, "*M B P"] | None, longest: int
) -> Float[Tensor, "*M B L"]:
    """Return the output of a model, or of M models, for every prefix of every row.

    A pass takes as many rows as it could of ``longest`` symbols. ``positions`` are those of the whole row.
    """
    rows = max(1, ENTRIES // longest**2)
    parts = x.split(rows, -2)
    where = [None] * len(parts) if positions is None else positions.split(rows, -2)
    return torch.cat([model(*part) for part in zip(parts, where, strict=True)], -2)


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


def data(config: NumbersRun) -> tuple[NumberTask, InputDistribution, OutRep]:
    """Return the task, input distribution and output map, which decide a run's examples.

    A map with parameters is as it is before training.
    """
    return TASKS.build(config.task), INPUTS.build(config.inputs), build_map([config])


@torch.no_grad()
def measure_loss(model: Member, config: NumbersRun, outrep: OutRep, sequences: int) -> float:
    """Return the training loss of a model with the map ``outrep``, in representation space.

    It is over all training lengths of ``sequences`` training sequences, the same ones in each call.
    """
    (task, inputs, _), generator = data(config), stream(config.data_seed, "calibration")
    x = inputs.draw(sequences, config.train_length, generator)
    y = task.targets(x).double()
    error = readouts(model, x, generator).double() - outrep.forward(y)
    return _weigh_errors(error, y, outrep, length_weights(config.length_distribution, config.train_length).double())


@torch.no_grad()
def constant_loss(config: NumbersRun) -> float:
    """Return the lowest training loss of a model that gives the same output for all sequences of all lengths.

    That is the variance of the targets in representation space, the same for all seeds. For a learned map it is that of
    the map before training, for a chosen map the least of all candidates.
    """
    task, inputs, outrep = data(config)
    weights = length_weights(config.length_distribution, config.train_length).double()
    y = task.targets(inputs.draw(SEQUENCES, len(weights), stream(0, "training"))).double()
    losses = []
    for each in outrep.maps if isinstance(outrep, Chosen) else [outrep]:
        targets = each.forward(y)
        losses.append(_weigh_errors(targets - (targets.mean(0) * weights).sum(), y, each, weights))
    return min(losses)


def _weigh_errors(
    error: Float[Tensor, "B L"], y: Float[Tensor, "B L"], outrep: OutRep, weights: Float[Tensor, " L"]
) -> float:
    """Return the loss of errors in representation space, for targets ``y`` and ``weights`` of the lengths."""
    scale = float(outrep.loss_scale(y[None], weights[None, None]))
    return scale * float((error.square().mean(0) * weights).sum())


def constant_errors(config: NumbersRun) -> Float[np.ndarray, " L"]:
    """Return the mean squared error at each test length of the best constant prediction for training sequences.

    It is in the units of the target, and the same for all maps and seeds.
    """
    members = json.dumps([config.task, config.inputs])
    return _constant_errors(members, config.length_distribution, config.train_length, config.test_length)


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
