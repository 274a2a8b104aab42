"""RoPE with frequencies that depend on the length of the text, without parameters: dynamic NTK, LongRoPE.

The length of a text is its largest position plus one. All tokens of a text use the frequencies of its length, so a
prefix of a longer text is not encoded as it would be alone.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated

import torch
from jaxtyping import Float, Int
from pydantic import Field, PositiveFloat
from torch import Tensor

from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims
from synthlab.models.encodings.extensions import Factor, check_pairs, stretch_frequencies
from synthlab.models.encodings.rope import RoPE
from synthlab.runs.run import Tokens
from synthlab.styles import DASHDOT, DASHES, MOSS, ROSE, Style

Divisors = list[Annotated[float, Field(ge=1, le=10**6)]] | None


class LengthRoPE(RoPE):
    """RoPE whose frequencies depend on the length of the text, beyond ``trained`` tokens."""

    def __init__(self, dims: Dims, /, base: float, trained: int):
        super().__init__(dims, base)
        self.trained = trained

    @abstractmethod
    def frequencies_of(self, lengths: Int[Tensor, "#E #B"], width: int) -> Float[Tensor, "#E #B pairs"]:
        """Return the frequencies of texts of ``lengths`` tokens, for heads of ``width`` dimensions."""

    def table(self, lengths: Sequence[int], width: int) -> Float[Tensor, "#E lengths pairs"]:
        """Return the frequencies of one text of each of ``lengths``, for heads of ``width`` dimensions."""
        device = next((weights.device for weights in self.parameters()), None)
        return self.frequencies_of(torch.tensor([lengths], device=device), width)

    def frequencies_at(self, positions, width):
        return self.frequencies_of(positions.amax(-1) + 1, width).unsqueeze(-2)

    def alike_up_to(self, length):
        return self.trained if length <= self.trained else math.inf


class DynamicNTK(LengthRoPE):
    """NTK-aware interpolation by the length of the text.

    A text of n tokens has the frequencies of RoPE up to ``trained`` tokens. Beyond that it has those of ``NTK`` with
    the factor ``factor`` * n / ``trained`` - (``factor`` - 1).

    The formula is that of Transformers' ``rope_type: dynamic``. With ``factor`` 1 the factor is n / ``trained``, as in
    Peng et al. (2024, section 3.3).

    Example:
        >>> from synthlab import Dims
        >>> from synthlab.models.encodings.length_rope import DynamicNTK
        >>> encoding = DynamicNTK(Dims(width=8, heads=2), base=10_000.0, factor=1.0, trained=64)
        >>> encoding.table([64, 256], width=4)[0, :, -1]  # the lowest of 2 frequencies, divided by 4
        tensor([0.0100, 0.0025], dtype=torch.float64)
    """

    style = Style("dynamic NTK", MOSS, DASHDOT, "d")

    def __init__(self, dims: Dims, /, base: PositiveFloat, factor: Factor, trained: Tokens):
        super().__init__(dims, base, trained)
        check_pairs(type(self).__name__, dims)
        self.factor = factor

    def frequencies_of(self, lengths, width):
        factor = 1 + self.factor * (lengths - self.trained).clamp(min=0).double() / self.trained
        return stretch_frequencies(width, self.base, factor.unsqueeze(-1), lengths.device)

    def alike_up_to(self, length):
        return max(self.trained, length)


class LongRoPE(LengthRoPE):
    """RoPE with each frequency divided by a number of its own (Ding et al., 2024, arXiv 2402.13753, and their code).

    Texts of up to ``trained`` tokens use the divisors ``short``, longer ones ``long``. All logits, those of short texts
    included, are multiplied by 1 + ln(``factor``) / ln(``trained``): the release multiplies queries and keys by its
    root.

    The paper finds the divisors by an evolutionary search, which the lab does not have. It also leaves the first tokens
    of a text unscaled; Transformers' ``rope_type: longrope``, whose formula this is, does not.

    Args:
        base: The base that the model was trained with.
        factor: How many times longer the context becomes.
        trained: The training length in tokens.
        short: A divisor for each pair of a head's dimensions, highest frequency first; None for 1.
        long: The same for longer texts; None for ``factor``, which is position interpolation.
    """

    style = Style("LongRoPE", ROSE, DASHES, "8")

    def __init__(
        self,
        dims: Dims,
        /,
        base: PositiveFloat,
        factor: Factor,
        trained: Annotated[int, Field(ge=2)],
        short: Divisors,
        long: Divisors,
    ):
        super().__init__(dims, base, trained)
        pairs = dims.width // dims.heads // 2
        for name, divisors in {"short": short, "long": long}.items():
            if divisors is not None and len(divisors) != pairs:
                raise InputError(
                    f"encoding.{name}={divisors}: has {len(divisors)} numbers; must have one for each of {pairs} pairs "
                    f"of dimensions, model.width={dims.width} / {dims.heads} heads / 2"
                )
        self.factor = factor
        self.divisors: Tensor
        divisors = torch.tensor([short or [1.0] * pairs, long or [factor] * pairs], dtype=torch.float64)
        self.register_buffer("divisors", divisors, persistent=False)

    def frequencies_of(self, lengths, width):
        plain = self.frequencies(width, lengths.device)
        short, long = (plain / each.to(plain) for each in self.divisors)
        return torch.where(lengths.unsqueeze(-1) > self.trained, long, short)

    def sharpen(self, positions):
        scale = 1 + math.log(self.factor) / math.log(self.trained)
        return torch.full_like(positions, scale, dtype=torch.float64)
