"""Polar positions."""

import math

import torch
from pydantic import PositiveFloat
from torch import Tensor, nn
from torch.nn.functional import softplus

from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.encodings.rope import angles
from synthlab.models.layers import ensemble_parameter
from synthlab.styles import DOTS, INK, Style


class PoPE(Encoding):
    """Polar positions: contents decide magnitudes, positions alone decide phases.

    Source: Gopalakrishnan et al., 2025, arXiv 2509.10534. The logit of query i and key j is the sum over the d
    dimensions n of softplus(q_n) softplus(k_n) cos((j - i) ``base``^(-n / d) + delta_n), divided by sqrt(d). Each head
    of each layer learns its delta, at first 0, in [-2 pi, 0].
    """

    style = Style("PoPE", INK, DOTS, "$O$")

    for_each_layer = True

    def __init__(self, dims: Dims, /, base: PositiveFloat):
        super().__init__()
        self.base, self.delta = base, ensemble_parameter(dims.models, 1, 1, dims.heads, dims.width // dims.heads)

    def initialise(self, generators):
        nn.init.zeros_(self.delta)

    def rotate(self, v, positions):
        return self._turn(v, positions, 0.0)

    def rotate_keys(self, k, positions):
        within = self.delta.clamp(-2 * math.pi, 0)
        return self._turn(k, positions, self.delta + (within - self.delta).detach())  # beyond, it still has a gradient

    def _turn(self, v: Tensor, positions: Tensor, phase: Tensor | float) -> Tensor:
        """Return softplus(v) in the direction of the angle position * frequency + phase, [E, B, T, H, 2d]."""
        width = v.shape[-1]
        frequencies = self.base ** -(torch.arange(width, dtype=torch.float64, device=v.device) / width)
        angle = (angles(positions, frequencies).unsqueeze(-2) + phase).to(v.dtype)
        magnitude = softplus(v)
        return torch.cat((magnitude * angle.cos(), magnitude * angle.sin()), -1)
