"""How far the mean distribution of output tokens moves with length (alignment view: Du et al., 2025, section 3)."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from synthlab.sequences.config import SequencesConfig


class Outputs(NamedTuple):
    """Mean distributions over the vocabulary of V tokens at each of L lengths: what the model ``said``, and what was
    ``wanted`` of the same sequences."""

    lengths: Sequence[int]
    said: Float[Tensor, "L V"]
    wanted: Float[Tensor, "L V"]

    def shifts(self, first: int, last: int, config: SequencesConfig) -> dict[str, float]:
        """The total variation distance between lengths from ``first`` to ``last`` and the longest quarter of training
        lengths, 0 to 1: ``shift`` of what was said, ``target_shift`` of what was wanted. NaN without such lengths."""
        trained = self._find_within(config.train_from or 1, config.train_length)
        here, there = self._find_within(first, last), trained[-math.ceil(len(trained) / 4) :]
        pairs = {"shift": self.said, "target_shift": self.wanted}
        return {name: (rows[here].mean(0) - rows[there].mean(0)).abs().sum().item() / 2 for name, rows in pairs.items()}

    def _find_within(self, first: int, last: int) -> list[int]:
        return [index for index, length in enumerate(self.lengths) if first <= length <= last]
