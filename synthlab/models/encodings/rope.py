"""Rotary position embedding (RoPE), on all or some of each head's dimensions.

Its variants override only the frequencies: ``frequencies`` where they are fixed, ``frequencies_at`` where they depend
on the positions.
"""

import math
from typing import Annotated

import torch
from jaxtyping import Float, Shaped
from pydantic import Field, PositiveFloat
from torch import Tensor

from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.styles import DASHDOT, DOTS, FERN, GREEN, LONG, STEEL, Style


class RoPE(Encoding):
    """Queries and keys rotated by angles proportional to position, so that logits depend only on relative positions.

    Source: Su et al., 2021, equation 34.
    """

    style = Style("RoPE", GREEN, DASHDOT, "^")

    def __init__(self, dims: Dims, /, base: PositiveFloat):
        super().__init__()
        head_width = dims.width // dims.heads
        if head_width % 2:
            raise InputError(
                f"model.heads={dims.heads}: encoding {type(self).__name__} needs an even head width, "
                f"but model.width={dims.width} / {dims.heads} heads = {head_width}"
            )
        self.base = base

    def frequencies(self, width: int, device: torch.device | None = None) -> Float[Tensor, " pairs"]:
        """Return the rotary frequencies of a head's pairs of dimensions, in radians per position, highest first."""
        return geometric(width, self.base, device)

    def frequencies_at(self, positions: Shaped[Tensor, "#E #B T"], width: int) -> Float[Tensor, "*#rows pairs"]:
        """Return the rotary frequencies of tokens at ``positions``.

        The shape is [pairs] where all tokens have the same frequencies, else [#E, #B, 1, pairs].
        """
        return self.frequencies(width, positions.device)

    def rotate(self, v, positions):
        wide = torch.promote_types(v.dtype, torch.float32)  # complex numbers have at least this precision
        angle = angles(positions, self.frequencies_at(positions, v.shape[-1])).unsqueeze(-2)
        rotation = torch.complex(angle.cos().to(wide), angle.sin().to(wide))
        # A contiguous copy for each head, so that the product runs over whole vectors.
        rotation = rotation.expand(*rotation.shape[:-2], v.shape[-2], -1).contiguous()
        pairs = torch.view_as_complex(v.to(wide).contiguous().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * rotation).flatten(-2).to(v.dtype)


class PartialRoPE(Encoding):
    """RoPE on the first ``share`` of each head's dimensions, rounded down to pairs; the others carry no position.

    Sources: Wang and Komatsuzaki, 2021, GPT-J; Kazemnejad et al., 2023, arXiv 2305.19466, whose RoPE has a share of
    1/4.
    """

    style = Style("partial RoPE", STEEL, DOTS, "4")

    def __init__(self, dims: Dims, /, base: PositiveFloat, share: Annotated[float, Field(gt=0, le=1)]):
        super().__init__()
        head_width = dims.width // dims.heads
        self.rotated = int(share * head_width) // 2 * 2
        if not self.rotated:
            raise InputError(f"encoding.share={share:g}: leaves no pair of a head's {head_width} dimensions to rotate")
        self.rope = RoPE(Dims(self.rotated, 1), base)

    def rotate(self, v, positions):
        return torch.cat((self.rope.rotate(v[..., : self.rotated], positions), v[..., self.rotated :]), -1)


class PRoPE(RoPE):
    """RoPE on the ``share`` of highest frequencies, rounded down to pairs of dimensions; the lower ones become 0.

    Sources: Barbero et al., 2024, arXiv 2410.06205, section 6 (p-RoPE, with p = ``share``); if ``clipped``, arXiv
    2602.05258 (clipped RoPE): of the n low frequencies, number k = 0..n - 1 is multiplied by (1 + cos(pi k / (n - 1)))
    / 2, so that the highest of them stays and the lowest is 0.
    """

    style = Style("p-RoPE", FERN, LONG, "$p$")

    def __init__(self, dims: Dims, /, base: PositiveFloat, share: Annotated[float, Field(ge=0, le=1)], clipped: bool):
        super().__init__(dims, base)
        self.share, self.clipped = share, clipped

    def frequencies(self, width, device=None):
        frequencies = super().frequencies(width, device)
        low = frequencies[int(self.share * len(frequencies)) :]  # a view
        fall = torch.linspace(0, math.pi, len(low), dtype=torch.float64, device=device)
        low *= (1 + fall.cos()) / 2 if self.clipped else 0
        return frequencies


def geometric(
    width: int, base: float | Float[Tensor, "*rows 1"], device: torch.device | None = None
) -> Float[Tensor, "*rows pairs"]:
    """Return base^(-2i / width) for each pair i of dimensions, in double precision: positions can be large."""
    exponent = torch.arange(0, width, 2, dtype=torch.float64, device=device) / width
    return base**-exponent


def angles(
    positions: Shaped[Tensor, "#E #B T"], frequencies: Float[Tensor, "*#rows pairs"]
) -> Float[Tensor, "#E #B T pairs"]:
    """Return each position times each frequency, in double precision."""
    return positions.double().unsqueeze(-1) * frequencies
