"""The shift of the mean distribution of output tokens with length (alignment view: Du et al., 2025, section 3)."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from synthlab.sequences.config import SequencesConfig


class Outputs(NamedTuple):
    """Mean distributions over the vocabulary of V tokens at each of L lengths.

    ``said`` is the mean of the model's predictions, ``wanted`` that of the targets of the same sequences.
    """

    lengths: Sequence[int]
    said: Float[Tensor, "L V"]
    wanted: Float[Tensor, "L V"]

    def shifts(self, first: int, last: int, config: SequencesConfig) -> dict[str, float]:
        """Return the total variation distance of outputs at some lengths from those at trained lengths, 0 to 1.

        The lengths are ``first`` to ``last``, compared with the longest quarter of training lengths. ``shift`` is the
        distance of the predictions, ``target_shift`` that of the targets. NaN without such lengths.
        """
        trained = self._find_within(config.train_from or 1, config.train_length)
        here, there = self._find_within(first, last), trained[-math.ceil(len(trained) / 4) :]
        pairs = {"shift": self.said, "target_shift": self.wanted}
        return {name: (rows[here].mean(0) - rows[there].mean(0)).abs().sum().item() / 2 for name, rows in pairs.items()}

    def _find_within(self, first: int, last: int) -> list[int]:
        return [index for index, length in enumerate(self.lengths) if first <= length <= last]
