"""What a position encoding is: an object with four neutral hooks.

``embed`` adds to token embeddings, ``rotate`` turns queries and keys, ``sharpen`` scales a query's attention logits,
``bias`` adds to them; the base class does nothing in each, so NoPE overrides nothing. Positions count from 0 (the BOS)
and may differ from row to row.

An encoding serves E models at once (see ``layers``): what is learned has a leading dimension of models. Positions have
dimensions of models and rows too, of size 1 where all share them.
"""

import math
from abc import ABC
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from synthlab.models.layers import Generators


class Dims(NamedTuple):
    """What an encoding needs to know of the models it serves.

    Attributes:
        width: D, the width of the residual stream.
        heads: H, the attention heads, which share the width.
        models: E, how many models are trained side by side.
    """

    width: int
    heads: int
    models: int = 1


class Encoding(nn.Module, ABC):
    """A position encoding: four hooks, each of which does nothing unless a subclass overrides it.

    An encoding serves E models at once. What is learned is a parameter whose first dimension is E
    (``synthlab.models.layers.stacked``). The constructor takes ``Dims`` as its first, positional-only argument; its
    keyword arguments are the keys of the config group ``encoding``, and their types are checked.

    Letters of shapes: E models, B rows, T tokens (BOS and EOS included), D width, H heads, d = D / H, Q queries, K
    keys. Positions count from 0, the BOS.

    Example:
        >>> import torch, synthlab
        >>> class Recency(synthlab.Encoding):
        ...     "Logits lowered by the distance, with one slope for all heads."
        ...     def __init__(self, dims, /, slope: float = 0.5):
        ...         super().__init__()
        ...         self.slope = slope
        ...     def bias(self, query, key):
        ...         return self.slope * (key - query).unsqueeze(-3)
        >>> encoding = Recency(synthlab.Dims(width=8, heads=2), slope=0.5)
        >>> query, key = torch.tensor([[[[2]]]]), torch.tensor([[[[0, 1, 2]]]])
        >>> encoding.bias(query, key).tolist()
        [[[[[-1.0, -0.5, 0.0]]]]]
        >>> encoding.longest(), encoding.sharpen(key[..., 0, :])
        (inf, None)
    """

    # True where positions are drawn anew for each prefix: its prefixes cannot share one packed row (see ``packing``).
    draws_positions = False

    def initialise(self, generators: Generators) -> None:
        """Draw the initial values of whatever is learned.

        Args:
            generators: A generator for each of the E models; ``synthlab.models.layers.draw`` takes them.
        """

    def longest(self) -> float:
        """The longest sequence, in symbols, that this encoding can serve; infinite for most."""
        return math.inf

    def positions(self, lengths: Int[Tensor, " B"], count: int, generator: torch.Generator) -> Int[Tensor, "B P"]:
        """The positions of tokens: 0, 1, 2, ... unless a subclass draws them.

        Args:
            lengths: The symbols of the prefix that each of the B rows holds.
            count: P, the tokens of a row, BOS first.
            generator: For a subclass that draws positions.

        Returns:
            The positions of each row.
        """
        return torch.arange(count).expand(len(lengths), count)

    def embed(self, h: Float[Tensor, "E B T D"], positions: Int[Tensor, "#E #B T"]) -> Float[Tensor, "E B T D"]:
        """Add positions to token embeddings.

        Args:
            h: Token embeddings.
            positions: Of each token.

        Returns:
            The embeddings that the first layer reads.
        """
        return h

    def rotate(self, v: Float[Tensor, "E B T H d"], positions: Int[Tensor, "#E #B T"]) -> Float[Tensor, "E B T H d"]:
        """Turn queries or keys by their positions.

        Args:
            v: Queries or keys of each head.
            positions: Of each token.

        Returns:
            The same, turned; the logits are their inner products.
        """
        return v

    def sharpen(self, positions: Int[Tensor, "#E #B T"]) -> Float[Tensor, "#E #B T"] | None:
        """Scale a query's attention logits.

        Args:
            positions: Of each query.

        Returns:
            What each query's logits are multiplied by; None for nothing.
        """
        return None

    def bias(
        self, query: Int[Tensor, "#E #B Q 1"], key: Int[Tensor, "#E #B Q K"]
    ) -> Float[Tensor, "#E #B H Q K"] | None:
        """Add to attention logits.

        Args:
            query: The position of each query.
            key: The positions of its keys; those after it are masked in any case.

        Returns:
            What is added to the logits of each head; None for nothing.
        """
        return None


def encoding_of(model: nn.Module) -> Encoding:
    """The position encoding of a model, which every model keeps as its attribute ``encoding``."""
    return cast(Encoding, model.encoding)
