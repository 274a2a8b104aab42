"""RoPE for contexts longer than those of training.

None of these has anything learned: each can also take the place of ``rope`` in a trained model (``model.encoding``),
with the base it was trained with, but for ``EABF``. ``trained`` counts tokens, BOS and EOS too.
"""

import math
from typing import Annotated

import torch
from pydantic import Field, PositiveFloat, PositiveInt

from synthlab.errors import InputError
from synthlab.models.encoding_base import Dims
from synthlab.models.rope import RoPE, geometric

Factor = Annotated[float, Field(ge=1, le=10**6)]


class PI(RoPE):
    """Position interpolation: positions divided by ``factor``, so that they stay among those of training (Chen et al.,
    2023, section 2.3, equation 4)."""

    def __init__(self, dims: Dims, /, base: PositiveFloat, factor: Factor):
        super().__init__(dims, base)
        self.factor = factor

    def frequencies(self, width, device=None):
        return super().frequencies(width, device) / self.factor


class NTK(RoPE):
    """NTK-aware interpolation: a base such that the highest frequency stays and the lowest is divided by ``factor``
    (Peng et al., 2024, section 3.1)."""

    def __init__(self, dims: Dims, /, base: PositiveFloat, factor: Factor):
        super().__init__(dims, base)
        if dims.width == 2 * dims.heads:
            raise InputError(
                f"model.heads={dims.heads}: NTK needs a head width of 4 or more, as the one frequency of "
                f"model.width={dims.width} / {dims.heads} heads = 2 is both the highest and the lowest"
            )
        self.factor = factor

    def frequencies(self, width, device=None):
        return geometric(width, self.base * self.factor ** (width / (width - 2)), device)


class YaRN(RoPE):
    """Pairs of dimensions that turn more than ``fast`` times within ``trained`` tokens are left as they are, those that
    turn less than ``slow`` times are interpolated, with a ramp between; and logits are multiplied by
    1/t = (0.1 ln(factor) + 1)^2 (Peng et al., 2024, sections 3.2 to 3.4).

    The ramp is that of the authors' release and of what others made of it: linear in the number of the pair, from the
    last whole number before the pair that turns ``fast`` times, but at least 0, to the first after the one that turns
    ``slow`` times. In the paper it is linear in the number of turns. The two are close where many pairs lie on it; but
    where even the first pair turns less than ``fast`` times, as in short contexts, the release leaves it as it is
    and the paper does not. The release scales queries and keys by the root of 1/t, which makes the same logits.
    """

    def __init__(
        self,
        dims: Dims,
        /,
        base: Annotated[float, Field(gt=1)],
        factor: Factor,
        trained: PositiveInt,
        slow: PositiveFloat,
        fast: PositiveFloat,
    ):
        super().__init__(dims, base)
        if slow >= fast:
            raise InputError(f"encoding.slow={slow}: must be less than encoding.fast={fast}")
        self.factor, self.trained, self.slow, self.fast = factor, trained, slow, fast

    def frequencies(self, width, device=None):
        plain = super().frequencies(width, device)
        first = max(math.floor(self.pair(self.fast, width)), 0)
        last = min(math.ceil(self.pair(self.slow, width)), width - 1)
        pairs = torch.arange(len(plain), dtype=plain.dtype, device=device)
        ramp = ((pairs - first) / max(last - first, 0.001)).clamp(0, 1)  # a step where both ends are one
        return plain.lerp(plain / self.factor, ramp)

    def pair(self, turns: float, width: int) -> float:
        """The pair of dimensions, of ``width`` of them, that turns so often within the trained length: a fraction, or
        one that does not exist."""
        wavelength = math.log(self.trained) - math.log(turns)  # logarithms first: their quotient could be infinite
        return width / 2 * (wavelength - math.log(2 * math.pi)) / math.log(self.base)

    def sharpen(self, positions):
        return torch.full_like(positions, (0.1 * math.log(self.factor) + 1) ** 2, dtype=torch.float64)


class EABF(RoPE):
    """Entropy-aware adjusted base frequency: RoPE with a larger base, and the logits of the i-th token, which sees i,
    multiplied by max(1, log_c(i)) for c the ``trained`` length (Zhang et al., 2024, arXiv 2401.07004, and their code).

    They leave the logits of the first two of 32 layers as they are; here those of every layer are scaled, as two layers
    are all that a small model has. Where positions are drawn (``randomized``), i is the position plus one, which is
    more than the token sees.
    """

    def __init__(self, dims: Dims, /, base: PositiveFloat, trained: Annotated[int, Field(ge=2)]):
        super().__init__(dims, base)
        self.trained = trained

    def sharpen(self, positions):
        return ((positions + 1).double().log() / math.log(self.trained)).clamp(min=1)
