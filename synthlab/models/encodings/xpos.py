"""Rotary positions whose products decay with the distance."""

import torch
from jaxtyping import Float
from pydantic import PositiveFloat
from torch import Tensor

from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.encodings.rope import RoPE
from synthlab.styles import CLAY, DASHDOT, Style

GAMMA = 0.4  # as in the paper


class XPos(Encoding):
    """RoPE whose pair n of dimensions decays by zeta_n^((i - j) / ``scale``) for query i and key j.

    Source: Sun et al., 2022, arXiv 2212.10554, section 3. zeta_n = (n / (d / 2) + 0.4) / 1.4, so high frequencies decay
    faster. Queries are multiplied by zeta_n^(i / ``scale``) and keys divided by zeta_n^(j / ``scale``). In single
    precision this holds up to about 60 times ``scale`` tokens.
    """

    style = Style("xPos", CLAY, DASHDOT, "$\\times$")

    def __init__(self, dims: Dims, /, base: PositiveFloat, scale: PositiveFloat):
        super().__init__()
        self.rope, self.scale = RoPE(dims, base), scale

    def rotate(self, v, positions):
        return self.rope.rotate(v, positions) * self._decay(v, positions)

    def rotate_keys(self, k, positions):
        return self.rope.rotate(k, positions) / self._decay(k, positions)

    def _decay(self, v: Tensor, positions: Tensor) -> Float[Tensor, "#E #B T 1 d"]:
        """Return zeta^(position / scale) of each dimension."""
        width = v.shape[-1]
        zeta = (torch.arange(0, width, 2, dtype=torch.float64, device=v.device) / width + GAMMA) / (1 + GAMMA)
        powers = zeta ** (positions.double() / self.scale)[..., None, None]
        return powers.repeat_interleave(2, -1).to(v.dtype)
