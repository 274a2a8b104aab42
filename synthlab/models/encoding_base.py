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
    """What an encoding needs to know of the models it serves: their width and heads, and how many they are."""

    width: int
    heads: int
    models: int = 1


class Encoding(nn.Module, ABC):
    """Where a token stands, told to the model. The hooks here are neutral."""

    # True where positions are drawn anew for each prefix: its prefixes cannot share one packed row (see ``packing``).
    draws_positions = False

    def initialise(self, generators: Generators) -> None:
        """Draw the initial values of whatever is learned, each model's from its own generator."""

    def longest(self) -> float:
        """The longest sequence this encoding can serve; infinite for most."""
        return math.inf

    def positions(self, lengths: Int[Tensor, " B"], count: int, generator: torch.Generator) -> Int[Tensor, "B P"]:
        """The positions of ``count`` tokens, BOS first, for rows that hold prefixes of ``lengths`` symbols."""
        return torch.arange(count).expand(len(lengths), count)

    def embed(self, h: Float[Tensor, "E B T D"], positions: Int[Tensor, "#E #B T"]) -> Float[Tensor, "E B T D"]:
        """Token embeddings with their positions."""
        return h

    def rotate(self, v: Float[Tensor, "E B T H d"], positions: Int[Tensor, "#E #B T"]) -> Float[Tensor, "E B T H d"]:
        """Queries or keys, turned by their positions."""
        return v

    def sharpen(self, positions: Int[Tensor, "#E #B T"]) -> Float[Tensor, "#E #B T"] | None:
        """What the logits of each query are multiplied by, given its position; None for nothing."""
        return None

    def bias(
        self, query: Int[Tensor, "#E #B Q 1"], key: Int[Tensor, "#E #B Q K"]
    ) -> Float[Tensor, "#E #B H Q K"] | None:
        """What is added to attention logits, given each query's position and its keys'; None for nothing."""
        return None


def encoding_of(model: nn.Module) -> Encoding:
    """The position encoding of a model, which every model keeps as its attribute ``encoding``."""
    return cast(Encoding, model.encoding)
