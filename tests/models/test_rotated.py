"""Encodings that rotate queries and keys differently, or make them wider: logits against loops over pairs of tokens."""

import math

import pytest
import torch

from support.models import at, build

T = 6


def randoms(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def logits(encoding, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Products of each head's queries and keys, before scaling: [H, Q, K] for a single text."""
    q, k = encoding.rotate(q, positions), encoding.rotate_keys(k, positions)
    return torch.einsum("qhp,khp->hqk", q[0, 0], k[0, 0]).tril()


def triangle(value) -> torch.Tensor:
    """value(head, i, j) for each query i and key j that it sees, of two heads."""
    rows = [[[value(n, i, j) if j <= i else 0.0 for j in range(T)] for i in range(T)] for n in range(2)]
    return torch.tensor(rows, dtype=torch.double)


@pytest.mark.parametrize("places", [range(T), [0, 3, 4, 90, 91, 700]])
def test_xpos_by_hand(places):
    xpos, q, k = build("xpos", scale=64.0), randoms(1, 1, T, 2, 4), randoms(1, 1, T, 2, 4, seed=1)
    places = list(places)

    def logit(n, i, j):
        total, far = 0.0, places[i] - places[j]
        for pair in range(2):
            zeta, angle = (pair / 2 + 0.4) / 1.4, far * 10_000 ** (-2 * pair / 4)
            (a, b), (c, e) = (v[0, 0, t, n, 2 * pair : 2 * pair + 2].tolist() for v, t in ((q, i), (k, j)))
            total += zeta ** (far / 64) * (math.cos(angle) * (a * c + b * e) + math.sin(angle) * (a * e - b * c))
        return total

    torch.testing.assert_close(logits(xpos, q, k, at(*places)), triangle(logit))
