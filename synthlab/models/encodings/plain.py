"""The plain position encodings: none, a vector for each position, a bias for each distance."""

import math
from typing import Annotated

import torch
from jaxtyping import Float, Int
from pydantic import Field, PositiveFloat
from torch import Tensor

from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.encodings.rope import angles, geometric
from synthlab.models.layers import ensemble_parameter, gather_rows, init_normal
from synthlab.runs.run import Tokens
from synthlab.styles import BLUE, DASHES, DOTS, LONG, ORANGE, PURPLE, RED, SKY, Style


class NoPE(Encoding):
    """No position encoding: the causal mask alone breaks the symmetry (paper, appendix A: the default)."""

    style = Style("NoPE", ORANGE, "-", "o")

    def __init__(self, dims: Dims, /):
        super().__init__()


class Learned(Encoding):
    """A learned vector for each position, added to the embedding. ``table`` is the number of positions.

    Positions beyond the training lengths get no gradient and keep their initial values.
    """

    style = Style("learned", RED, DOTS, "D")

    def __init__(self, dims: Dims, /, table: Annotated[int, Field(ge=3, le=10**6)], scale: PositiveFloat):
        super().__init__()
        self.scale = scale
        self.vectors = ensemble_parameter(dims.models, table, dims.width)

    def initialise(self, generators):
        init_normal(self.vectors, self.scale, generators)

    def longest(self):
        return self.vectors.shape[1]

    def embed(self, h, positions):
        return h + gather_rows(self.vectors, positions)


class Sinusoidal(Encoding):
    """Fixed sines and cosines of geometric frequencies, added to the embedding (Vaswani et al., 2017, section 3.5)."""

    style = Style("sinusoidal", PURPLE, LONG, "v")

    def __init__(self, dims: Dims, /, base: PositiveFloat):
        super().__init__()
        if dims.width % 2:
            raise InputError(f"model.width={dims.width}: must be even for encoding sinusoidal")
        self.base = base

    def embed(self, h, positions):
        angle = angles(positions, geometric(h.shape[-1], self.base, h.device))
        return h + torch.stack((angle.sin(), angle.cos()), -1).flatten(-2).to(h.dtype)


class ALiBi(Encoding):
    """Logits lowered in proportion to distance, with a fixed slope for each head (Press et al., 2022, section 3).

    The slopes are ``slope`` times the published ones.
    """

    style = Style("ALiBi", BLUE, DASHES, "s")
    ADDED = ("slope",)

    def __init__(self, dims: Dims, /, slope: PositiveFloat = 1.0):
        super().__init__()
        self.slopes: Tensor
        self.register_buffer("slopes", slope * alibi_slopes(dims.heads), persistent=False)

    def bias(self, query, key):
        return self.slopes[:, None, None] * (key - query).unsqueeze(-3)


class T5(Encoding):
    """A learned bias for each head and bucket of distances (Raffel et al., 2020, section 2.1, one-directional).

    The first half of the buckets hold one distance each. The others grow geometrically up to the distance ``furthest``;
    the last one holds all larger distances too. Biases are initialized with the standard deviation ``scale``; None
    means one over the root of the width, as in T5.
    """

    style = Style("T5 bias", SKY, DASHES, "P")

    def __init__(
        self,
        dims: Dims,
        /,
        buckets: Annotated[int, Field(ge=2, le=10**6)],
        furthest: Tokens,
        scale: PositiveFloat | None,
    ):
        super().__init__()
        if furthest <= buckets // 2:
            raise InputError(f"encoding.furthest={furthest}: must exceed half of encoding.buckets={buckets}")
        self.furthest, self.scale = furthest, scale or dims.width**-0.5
        self.biases = ensemble_parameter(dims.models, buckets, dims.heads)

    def initialise(self, generators):
        init_normal(self.biases, self.scale, generators)

    def bucket(self, distance: Int[Tensor, "..."]) -> Int[Tensor, "..."]:
        """Return the bucket of each distance. Negative distances, which are always masked, fall into bucket 0."""
        buckets = self.biases.shape[1]
        exact = buckets // 2
        ratio = distance.clamp(min=exact).float() / exact
        far = exact + (ratio.log() / math.log(self.furthest / exact) * (buckets - exact)).long()
        return torch.where(distance < exact, distance.clamp(min=0), far.clamp(max=buckets - 1))

    def bias(self, query, key):
        return gather_rows(self.biases, self.bucket(query - key)).movedim(-1, -3)


def alibi_slopes(heads: int) -> Float[Tensor, " H"]:
    """Return the published slopes: 2^(-8 i / H) for head i if H is a power of two.

    Otherwise these are the slopes of the power of two below H, then every second slope of the next power of two, as in
    the authors' release.
    """
    below = 2 ** int(math.log2(heads))
    slopes = [2 ** (-8 * i / below) for i in range(1, below + 1)]
    between = [2 ** (-4 * i / below) for i in range(1, 2 * below + 1, 2)]
    return torch.tensor(slopes + between[: heads - below])
