"""RoPE under maps of relative positions: Self-Extend, ReRoPE, leaky ReRoPE and dual chunk attention.

The logit of query i and key j is q_i^T R(r(i, j)) k_j, where plain RoPE has r(i, j) = i - j. A map r keeps the relative
positions of near tokens, and gives far ones positions that occur in training. The published implementations rotate
queries and keys two or three times and choose between the products by masks. Here r is any function, and a loop over
the pairs of dimensions computes the logits, with two matrices of all queries and keys for each pair. This suits texts
of hundreds of tokens, not of many thousands.

None of the encodings has parameters, so each can replace ``rope`` in a trained model, with or without fine-tuning.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated

import torch
from jaxtyping import Float, Int
from pydantic import Field, PositiveFloat
from torch import Tensor

from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims, Term
from synthlab.models.encodings.extensions import Factor
from synthlab.models.encodings.rope import RoPE
from synthlab.runs.run import Tokens
from synthlab.styles import DASHDOT, DASHES, DOTS, FOREST, NAVY, PLUM, SAND, Style

Trained = Annotated[int, Field(ge=2, le=10**9)]


class RelativeRoPE(RoPE):
    """RoPE whose logits depend on ``distance``, any function of the positions of query and key.

    Example:
        >>> import torch, synthlab
        >>> from synthlab.models.encodings.relative_maps import ReRoPE
        >>> encoding = ReRoPE(synthlab.Dims(width=8, heads=2), base=10_000.0, window=2, trained=64, scaled=False)
        >>> encoding.distance(torch.tensor([[[[3]]]]), torch.tensor([[[[0, 1, 2, 3]]]])).tolist()
        [[[[2, 2, 1, 0]]]]
    """

    @abstractmethod
    def distance(self, query: Int[Tensor, "#E #B Q 1"], key: Int[Tensor, "#E #B Q K"]) -> Tensor:
        """Return the relative position r(i, j) of each query and key.

        Args:
            query: The position of each query.
            key: The positions of its keys. Those after it are masked, so their values do not matter.

        Returns:
            The relative position that each query sees each key at, [#E, #B, Q, K], whole or real numbers.
        """

    def rotate(self, v, positions):
        return v  # the rotation is part of the products

    def relative(self, query, key):
        return self.distance(query, key).double().unsqueeze(-3)

    def products(self, q, k, relative):
        return rotate_pairs(q, k, relative, self.frequencies(q.shape[-1], q.device))


class SelfExtend(RelativeRoPE):
    """Self-Extend: exact positions for keys nearer than ``window``, for others positions divided by ``group``.

    Source: Jin et al., 2024, arXiv 2401.01325, section 3. r = i - j below ``window``, else floor(i / group) - floor(j /
    group) + window - window / group. Raises InputError unless ``group`` divides ``window``: the authors' code rounds
    window / group in decoding only.
    """

    style = Style("Self-Extend", PLUM, "-", "H")

    def __init__(self, dims: Dims, /, base: PositiveFloat, window: Tokens, group: Tokens):
        super().__init__(dims, base)
        if window % group:
            raise InputError(f"encoding.window={window}: must be a multiple of encoding.group={group}")
        self.window, self.group = window, group

    def distance(self, query, key):
        exact, shift = query - key, self.window - self.window // self.group
        return torch.where(exact < self.window, exact, query // self.group - key // self.group + shift)


class ReRoPE(RelativeRoPE):
    """Rectified RoPE (Su, 2023, github.com/bojone/rerope): r = min(i - j, ``window``).

    If ``scaled``, the logits of the query at position i are multiplied by max(1, log(i + 1) / log(``trained``)), as in
    the author's code.
    """

    style = Style("ReRoPE", FOREST, DASHES, "3")

    def __init__(self, dims: Dims, /, base: PositiveFloat, window: Tokens, trained: Trained, scaled: bool):
        super().__init__(dims, base)
        self.window, self.trained, self.scaled = window, trained, scaled

    def distance(self, query, key):
        return (query - key).clamp(max=self.window)

    def sharpen(self, positions):
        if not self.scaled:
            return None
        return ((positions + 1).double().log() / math.log(self.trained)).clamp(min=1)


class LeakyReRoPE(ReRoPE):
    """Leaky ReRoPE (Su, 2023, github.com/bojone/rerope): beyond ``window``, a further token counts 1 / ``factor``.

    r = i - j up to ``window``, and beyond it ``window`` + (i - j - ``window``) / ``factor``. ``scaled`` is that of
    ReRoPE.
    """

    style = Style("leaky ReRoPE", SAND, DASHDOT, "2")

    def __init__(
        self, dims: Dims, /, base: PositiveFloat, window: Tokens, factor: Factor, trained: Trained, scaled: bool
    ):
        super().__init__(dims, base, window, trained, scaled)
        self.factor = factor

    def distance(self, query, key):
        near = super().distance(query, key)
        return near + (query - key - near).double() / self.factor


class DualChunk(RelativeRoPE):
    """Dual chunk attention: exact positions within a chunk and near its beginning, capped ones across chunks.

    Source: An et al., 2024, arXiv 2402.17463, section 3. With N = ``trained``, chunks have c = 3N/4 - N/8 tokens and
    relative positions are at most 3N/4, as in the authors' code (both quotients rounded down). A key has the position j
    mod c. Its query has i mod c within the same chunk, min(i mod c + c, 3N/4) in the next one, and min(2c - 1, 3N/4) in
    all later ones.
    """

    style = Style("dual chunk", NAVY, DOTS, "1")

    def __init__(self, dims: Dims, /, base: PositiveFloat, trained: Trained):
        super().__init__(dims, base)
        self.cap = 3 * trained // 4
        self.chunk = self.cap - trained // 8

    def distance(self, query, key):
        chunks = query // self.chunk - key // self.chunk
        place = query % self.chunk
        successive = (place + self.chunk).clamp(max=self.cap)
        seen_from = torch.where(chunks == 1, successive, min(2 * self.chunk - 1, self.cap))
        return torch.where(chunks == 0, place, seen_from) - key % self.chunk


def rotate_pairs(
    q: Float[Tensor, "*q d"],
    k: Float[Tensor, "*k d"],
    relative: Float[Tensor, "*M Q K"],
    frequencies: Float[Tensor, " pairs"],
) -> Iterator[Term]:
    """Yield the terms of q_i^T R(r(i, j)) k_j, where R(r) rotates each pair of dimensions by r times its frequency.

    A pair (a, b) of q and (c, e) of k contributes cos(r f) (a c + b e) + sin(r f) (a e - b c).

    Args:
        q: Queries, pairs of dimensions side by side.
        k: Keys.
        relative: r(i, j), broadcast to the logits.
        frequencies: Radians per position of each pair.

    Example:
        >>> import torch
        >>> from synthlab.models.encodings.base import add_products
        >>> from synthlab.models.encodings.relative_maps import rotate_pairs
        >>> q, k, far = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.tensor([[torch.pi / 2]])
        >>> add_products(rotate_pairs(q, k, far, torch.ones(1)), lambda q, k: q @ k.mT).tolist()
        [[1.0]]
    """
    for pair, frequency in enumerate(frequencies):
        a, c = (each[..., 2 * pair : 2 * pair + 2] for each in (q, k))
        turned = torch.stack((-a[..., 1], a[..., 0]), -1)  # (-b, a): its product with (c, e) is a e - b c
        angle = relative * frequency
        yield angle.cos().to(q.dtype), a, c
        yield angle.sin().to(q.dtype), turned, c
