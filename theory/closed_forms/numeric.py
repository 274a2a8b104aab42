"""Expected errors in floating point, for trained models and plots: the sums of ``linear_attention``, vectorized."""

from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from synthlab.numbers.outrep import OutRep
from theory.closed_forms.linear_attention import TARGETS


class Outcomes(NamedTuple):
    """All outcomes of one length: last symbol, number of ones, probability."""

    last: Tensor
    ones: Tensor
    probability: Tensor


@cache
def outcomes(length: int) -> Outcomes:
    """Return the outcomes of ``length`` fair symbols, in double precision."""
    others = torch.arange(length, dtype=torch.float64)
    probability = torch.tensor([comb(length - 1, k) / 2**length for k in range(length)], dtype=torch.float64)
    last = torch.tensor([0, 1]).repeat_interleave(length)
    return Outcomes(last, others.repeat(2) + last, probability.repeat(2))


def count_seen(ones: Tensor, length: int, bos: bool, q: float = 1.0) -> Tensor:
    """Return how much zeros, ones and, with BOS, BOS count in the average that is the output.

    BOS counts as ``length``^(1 - q) symbols, so that its weight is 1 / (1 + ``length``^q), as with equal logits in
    ``synthlab.models.encodings.readout.Readout``.
    """
    of_bos = [torch.full_like(ones, length ** (1 - q))] * bos
    return torch.stack([length - ones, ones, *of_bos], -1)


def expected_errors(
    outputs: np.ndarray, task: str, outrep: OutRep, largest: float, test_length: int, q: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected squared errors of M = ``outputs`` at each length 1..``test_length``.

    The first is on the original scale, with outputs clipped as in the evaluation, the second in representation space.
    ``q`` is that of ``count_seen``.
    """
    matrix = torch.from_numpy(np.asarray(outputs, dtype=float))
    natural, represented = [], []
    for length in range(1, test_length + 1):
        last, ones, probability = outcomes(length)
        counts = count_seen(ones, length, matrix.shape[1] == 3, q)
        z = (matrix[last] * counts).sum(-1) / counts.sum(-1)
        y = torch.tensor([float(TARGETS[task](int(k), length)) for k in ones], dtype=torch.float64)
        answer = outrep.inverse(outrep.clip(z, largest))
        natural.append((probability * (answer - y).square()).sum().item())
        represented.append((probability * (z - outrep.forward(y)).square()).sum().item())
    return np.array(natural), np.array(represented)


def fit_outputs(task: str, train_length: int, outrep: OutRep, bos: bool, q: float = 1.0) -> np.ndarray:
    """Return the outputs M (2 x 2, with BOS 2 x 3) that minimize the expected training loss under ``outrep``.

    They may have any rank: this is a least-squares problem for each last symbol. It takes milliseconds, and
    approximates the exact solution of ``optima.optimum``, which is for a ``q`` of 1 (see ``count_seen``).
    """
    rows: list[Tensor] = []
    for symbol in (0, 1):
        features, targets, weights = [], [], []
        for length in range(1, train_length + 1):
            _, ones, probability = (each[outcomes(length).last == symbol] for each in outcomes(length))
            counts = count_seen(ones, length, bos, q)
            features.append(counts / counts.sum(-1, keepdim=True))
            y = torch.tensor([float(TARGETS[task](int(k), length)) for k in ones], dtype=torch.float64)
            targets.append(outrep.forward(y))
            weights.append(probability.sqrt())
        scale = torch.cat(weights)
        found = torch.linalg.lstsq(torch.cat(features) * scale[:, None], torch.cat(targets)[:, None] * scale[:, None])
        rows.append(found.solution[:, 0])
    return torch.stack(rows).numpy()
