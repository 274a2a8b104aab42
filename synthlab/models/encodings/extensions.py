"""Extensions of RoPE to contexts longer than the training contexts, with frequencies independent of the length.

None of them has parameters, so each can replace ``rope`` in a trained model (``model.encoding``). All but ``EABF`` then
take the base that the model was trained with. ``trained`` is the training length in tokens, with BOS and EOS.
"""

import math
from typing import Annotated

import torch
from jaxtyping import Float
from pydantic import Field, PositiveFloat
from torch import Tensor

from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims
from synthlab.models.encodings.rope import RoPE, geometric
from synthlab.runs.run import Tokens
from synthlab.styles import DASHES, DOTS, GREY, INDIGO, LONG, OLIVE, WINE, Style

Factor = Annotated[float, Field(ge=1, le=10**6)]


class PI(RoPE):
    """Position interpolation: positions divided by ``factor``, which keeps them in the training range.

    Source: Chen et al., 2023, section 2.3, equation 4.
    """

    style = Style("PI", INDIGO, LONG, "<")

    def __init__(self, dims: Dims, /, base: PositiveFloat, factor: Factor):
        super().__init__(dims, base)
        self.factor = factor

    def frequencies(self, width, device=None):
        return super().frequencies(width, device) / self.factor


class NTK(RoPE):
    """NTK-aware interpolation: a larger base, which keeps the highest frequency and divides the lowest by ``factor``.

    Source: Peng et al., 2024, section 3.1.
    """

    style = Style("NTK", OLIVE, DOTS, ">")

    def __init__(self, dims: Dims, /, base: PositiveFloat, factor: Factor):
        super().__init__(dims, base)
        check_pairs(type(self).__name__, dims)
        self.factor = factor

    def frequencies(self, width, device=None):
        return stretch_frequencies(width, self.base, self.factor, device)


class YaRN(RoPE):
    """YaRN (Peng et al., 2024, sections 3.2 to 3.4).

    Pairs of dimensions that rotate more than ``fast`` times within ``trained`` tokens keep their frequency. Pairs that
    rotate less than ``slow`` times are interpolated: their frequency is divided by ``factor``. Between them is a linear
    ramp. Logits are multiplied by 1/t = (0.1 ln(factor) + 1)^2.

    The ramp is that of the authors' release: linear in the index of the pair, from the index (rounded down, at least 0)
    of the pair that rotates ``fast`` times to the index (rounded up) of the pair that rotates ``slow`` times. The
    paper's ramp is linear in the number of rotations. The two are close where many pairs lie on the ramp. They differ
    in short contexts, where even the first pair rotates less than ``fast`` times: the release keeps its frequency, the
    paper does not. The release scales queries and keys by sqrt(1/t), which gives the same logits.
    """

    style = Style("YaRN", WINE, "-", "p")

    def __init__(
        self,
        dims: Dims,
        /,
        base: Annotated[float, Field(gt=1)],
        factor: Factor,
        trained: Tokens,
        slow: PositiveFloat,
        fast: PositiveFloat,
    ):
        super().__init__(dims, base)
        if slow >= fast:
            raise InputError(f"encoding.slow={slow}: must be less than encoding.fast={fast}")
        self.factor, self.trained, self.slow, self.fast = factor, trained, slow, fast

    def frequencies(self, width, device=None):
        frequencies = super().frequencies(width, device)
        first = max(math.floor(self.pair(self.fast, width)), 0)
        last = min(math.ceil(self.pair(self.slow, width)), width - 1)
        pairs = torch.arange(len(frequencies), dtype=frequencies.dtype, device=device)
        ramp = ((pairs - first) / max(last - first, 0.001)).clamp(
            0, 1
        )  # a step function if both ends are the same pair
        return frequencies.lerp(frequencies / self.factor, ramp)

    def pair(self, rotations: float, width: int) -> float:
        """Return the index of the pair that makes ``rotations`` rotations within the training length.

        Heads have ``width`` dimensions. The index is not a whole number, and may lie outside the range of pairs.
        """
        log_wavelength = math.log(self.trained) - math.log(rotations)  # the log of the quotient could overflow
        return width / 2 * (log_wavelength - math.log(2 * math.pi)) / math.log(self.base)

    def sharpen(self, positions):
        return torch.full_like(positions, (0.1 * math.log(self.factor) + 1) ** 2, dtype=torch.float64)


class EABF(RoPE):
    """Entropy-aware adjusted base frequency: RoPE with a larger base, and logits scaled by the number of visible keys.

    Source: Zhang et al., 2024, arXiv 2401.07004, and their code. The i-th token sees i tokens; its logits are
    multiplied by max(1, log_c(i)), where c is ``trained``, the training length. The authors do not scale the first two
    of 32 layers. Here every layer is scaled, since small models have two layers or fewer. With ``randomized``
    positions, i is the position plus one, which exceeds the number of visible tokens.
    """

    style = Style("EABF", GREY, DASHES, "*")

    def __init__(self, dims: Dims, /, base: PositiveFloat, trained: Annotated[int, Field(ge=2)]):
        super().__init__(dims, base)
        self.trained = trained

    def sharpen(self, positions):
        return ((positions + 1).double().log() / math.log(self.trained)).clamp(min=1)


def stretch_frequencies(
    width: int, base: float, factor: float | Float[Tensor, "*rows 1"], device: torch.device | None = None
) -> Float[Tensor, "*rows pairs"]:
    """Return the frequencies of ``NTK``: the highest is unchanged, the lowest is divided by ``factor``.

    ``factor`` is one number, or one for each row.
    """
    return geometric(width, base * factor ** (width / (width - 2)), device)


def check_pairs(name: str, dims: Dims) -> None:
    """Raise InputError if heads have a single frequency, which the encoding ``name`` cannot use."""
    if dims.width == 2 * dims.heads:
        raise InputError(
            f"model.heads={dims.heads}: {name} needs a head width of 4 or more, as the one frequency of "
            f"model.width={dims.width} / {dims.heads} heads = 2 is both the highest and the lowest"
        )
