"""Which heads of a trained model its prediction rests on: ablation at EOS, and the weight of BOS.

All measurements use the first of the run's own test sequences, cut to each length k: ``[BOS, x1..xk, EOS]``. A head is
ablated by replacing its output at EOS by its mean over the training lengths. One half of the sequences selects the
head, the other measures the effect of its loss.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from synthlab.errors import InputError
from synthlab.inspection.hooked import Hook
from synthlab.inspection.interventions import replace_head
from synthlab.numbers.evaluation import data, test_sequences
from synthlab.numbers.outrep import map_of
from synthlab.numbers.run import NumbersRun
from synthlab.numbers.trained import TrainedNumbers

SEQUENCES = 64  # number of sequences of each length: half of them select the head
REACH = 2  # multiple of the training length to which a line must at least be extrapolated
Place = tuple[int, int]  # layer and head


class Heads(NamedTuple):
    """Measurements of one model.

    *Unexplained* is a fraction of the variance of the mapped targets over the training lengths; the main head is the
    one whose ablation increases it most.

    Attributes:
        layer: The layer of the main head.
        head: The main head.
        unexplained: The fraction that the output leaves unexplained.
        lost: The increase of that fraction without the main head.
        alone: The fraction that is unexplained with only the main head.
        line_error: The relative error, at the test length, of a line fitted to 1/w at the training lengths; w is the
            weight that the main head gives BOS at EOS, averaged over sequences. NaN if lengths are tested up to less
            than ``REACH`` times the training length, or if a w is not above 0.
    """

    layer: int
    head: int
    unexplained: float
    lost: float
    alone: float
    line_error: float


def heads_of(model: TrainedNumbers) -> Heads:
    """Measure one model.

    Raises InputError for a model without heads, or one trained on fewer than two lengths or tested on fewer than
    trained on.
    """
    config = cast(NumbersRun, model.record.config)
    if not 2 <= config.train_length <= config.test_length:
        raise InputError(
            f"train_length={config.train_length}: must be from 2 to test_length={config.test_length}, for heads to be "
            f"measured"
        )
    x = test_sequences(data(config)[1], config.evaluation.sequences, config.test_length, config.test_seed)[:SEQUENCES]
    choosing, reporting = x[::2], x[1::2]
    means = _means(model, x[:, : config.train_length])
    hooks = {(i, j): replace_head(i, j, means[i, j], tokens=-1) for i, j in np.ndindex(*means.shape[:2])}
    damage = {place: _unexplained(model, choosing, [hook]) for place, hook in hooks.items()}
    main, *others = sorted(damage, key=damage.__getitem__, reverse=True)
    unexplained = _unexplained(model, reporting, [])
    return Heads(
        layer=main[0],
        head=main[1],
        unexplained=unexplained,
        lost=_unexplained(model, reporting, [hooks[main]]) - unexplained,
        alone=_unexplained(model, reporting, [hooks[place] for place in others]),
        line_error=line_error(_bos_weights(model, x, main), config.train_length),
    )


def line_error(weights: Sequence[float], train_length: int) -> float:
    """Return the relative error, at the last length, of a line fitted to 1 / ``weights`` at the training lengths.

    NaN if there are less than ``REACH`` times as many lengths, or a weight is not above 0.
    """
    if len(weights) < REACH * train_length or min(weights) <= 0:
        return float("nan")
    inverse = 1 / np.asarray(weights)
    slope, offset = np.polyfit(np.arange(1, train_length + 1), inverse[:train_length], 1)
    return float(abs((slope * len(inverse) + offset) / inverse[-1] - 1))


def _means(model: TrainedNumbers, x: Int[Tensor, "N L"]) -> Float[Tensor, "layers H d"]:
    """Return the output of each head at EOS, averaged over lengths and sequences."""
    layers, sums = range(len(model.hooked.model.blocks)), []
    for k in range(1, x.shape[1] + 1):
        _, inside = model.run_with_cache(x[:, :k])
        sums.append(torch.stack([inside["z", layer][:, -1].mean(0) for layer in layers]))
    return torch.stack(sums).mean(0)


def _bos_weights(model: TrainedNumbers, x: Int[Tensor, "N L"], main: Place) -> list[float]:
    """Return a head's weight on BOS at EOS, at each length, averaged over sequences."""
    layer, head = main
    prefixes = (x[:, :k] for k in range(1, x.shape[1] + 1))
    return [model.run_with_cache(each)[1]["pattern", layer][:, head, -1, 0].mean().item() for each in prefixes]


def _unexplained(model: TrainedNumbers, x: Int[Tensor, "N L"], hooks: Sequence[Hook]) -> float:
    """Return the fraction of the variance of the mapped targets that outputs do not explain, under ``hooks``.

    It is measured at training lengths.
    """
    config = cast(NumbersRun, model.record.config)
    (task, _, _), outrep = data(config), map_of(model.module, 0, config)
    lengths = range(1, config.train_length + 1)
    outputs = torch.stack([model.run_with_hooks(x[:, :k], hooks).output for k in lengths], 1).double()
    targets = outrep.forward(task.targets(x)[:, : config.train_length].double())
    return float((outputs - targets).square().mean() / targets.var(correction=0))
