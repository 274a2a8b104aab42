"""Decoder-only Transformers, E of one shape side by side, that read out every prefix of their inputs. They know nothing
of tasks.

Tensor letters: E models, B batch, L sequence length, P = L + 1 (with BOS), T = 2L + 1 (packed), R = 3L + 1 (the menu),
D model width, H heads, d head width, Q queries, K keys: P + 1 (BOS, x1..xL, and each token's own), or the menu's R (see
``packing``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, cast

import torch
from jaxtyping import Float, Int
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn

from synthlab.errors import InputError
from synthlab.models import packing
from synthlab.models.attention import Block, Kind, Menu, Norm, Sight
from synthlab.models.encoding_base import Dims, Encoding
from synthlab.models.layers import MLP, Generators, LayerNorm, Linear, draw, stacked, take

# Up to this length the first layer attends over the menu. Beyond it the menu, three times as long as a sequence, costs
# more than it saves.
MENU_LENGTH = 24


class Decoder(nn.Module, ABC):
    """Blocks between token embeddings and a readout.

    ``make_encoding`` is given the sizes that a position encoding needs. There is a model for each of ``generators``,
    which its weights are drawn from; raises InputError for sizes that do not fit.
    """

    def __init__(
        self,
        make_encoding: Callable[[Dims], Encoding],
        generators: Generators,
        vocabulary: int = packing.VOCABULARY,
        /,
        *,
        width: Annotated[int, Field(gt=0, le=16_384)],
        depth: Annotated[int, Field(gt=0, le=1_000)],
        heads: PositiveInt,
        mlp_ratio: Annotated[float, Field(gt=0, le=64)],
        norm: Norm,
        attention: Kind,
        init_scale: PositiveFloat,
    ):
        super().__init__()
        if width % heads:
            divisors = ", ".join(str(n) for n in range(1, width + 1) if width % n == 0)
            raise InputError(f"model.heads={heads}: must divide model.width={width}; choose from {divisors}")
        models, hidden = len(generators), max(1, round(mlp_ratio * width))
        self.encoding = make_encoding(Dims(width, heads, models))
        self.tokens = stacked(models, vocabulary, width)
        blocks = nn.ModuleList(Block(models, width, heads, hidden, norm, attention) for _ in range(depth))
        self.blocks = cast(Sequence[Block], blocks)  # PyTorch does not say of what a ModuleList consists
        self.norm = LayerNorm(models, width) if norm == "pre" else nn.Identity()
        self.readout = self.make_readout(models, width, hidden, vocabulary)
        self.initialise(generators, init_scale)

    @abstractmethod
    def make_readout(self, models: int, width: int, hidden: int, vocabulary: int) -> nn.Module:
        """What turns the normalized stream into answers."""

    def initialise(self, generators: Generators, scale: float) -> None:
        """Draw all weights anew: embeddings with deviation 1, others with scale / sqrt(inputs), biases 0."""
        draw(self.tokens, 1.0, generators)
        self.encoding.initialise(generators)
        for module in self.modules():
            if isinstance(module, Linear):
                module.initialise(scale, generators)


class Transformer(Decoder):
    """A decoder whose feed-forward readout gives a number for every prefix of its input (paper, appendix A)."""

    def make_readout(self, models, width, hidden, vocabulary):
        return MLP(models, width, hidden, 1)

    def forward(
        self, x: Int[Tensor, "E B L"], positions: Int[Tensor, "E B L+2"] | None = None
    ) -> Float[Tensor, "E B L"]:
        """The readout of every prefix ``x[:, :, :k]``. ``positions`` are those of BOS, x1..xL and the last EOS where
        they differ from 0..L + 1; each EOS takes the one after its prefix."""
        blocks = list(self.blocks)
        if positions is None and x.shape[-1] <= MENU_LENGTH:
            h = self.after_menu(x, only_readouts=len(blocks) == 1)
            del blocks[0]
        else:
            h = self.embed(x, positions)
        if blocks:
            sight = self.sight(x, positions)
            for block in blocks[:-1]:
                h = block(h, sight, self.encoding)
            h = blocks[-1](h, sight.of_readouts(), self.encoding)
        return self.readout(self.norm(h)).squeeze(-1)

    def embed(self, x: Int[Tensor, "E B L"], positions: Int[Tensor, "E B L+2"] | None) -> Float[Tensor, "E B T D"]:
        """The stream before the first layer."""
        return self.encoding.embed(take(self.tokens, packing.pack(x)), _packed(x, positions))

    def sight(self, x: Int[Tensor, "E B L"], positions: Int[Tensor, "E B L+2"] | None) -> Sight:
        """What every packed token can attend to."""
        positions, length = _packed(x, positions), x.shape[-1]
        own = positions.unsqueeze(-1)
        prefix = positions[..., None, : length + 1].expand(*positions.shape, -1)
        bias = self.encoding.bias(own, torch.cat((prefix, own), -1))
        return Sight(0, positions, packing.visible(length, x.device), bias)

    def after_menu(self, x: Int[Tensor, "E B L"], only_readouts: bool) -> Float[Tensor, "E B Q D"]:
        """The stream after the first layer, of all tokens or only of those that read out."""
        tokens, positions = packing.menu(x.shape[-1], x.device)
        where = positions.view(1, 1, -1)
        h = self.encoding.embed(take(self.tokens, tokens.view(1, 1, -1)), where)
        keys = where.unsqueeze(-2).expand(1, 1, len(positions), -1)
        menu = Menu(
            asking=None if only_readouts else packing.choices(x),
            positions=where,
            visible=packing.menu_visible(x.shape[-1], x.device),
            present=packing.present(x),
            bias=self.encoding.bias(where.unsqueeze(-1), keys),
        )
        return self.blocks[0].over_menu(h, menu, self.encoding)


def _packed(x: Int[Tensor, "E B L"], positions: Int[Tensor, "E B L+2"] | None) -> Int[Tensor, "#E #B T"]:
    """The position of every packed token."""
    ranks = packing.ranks(x.shape[-1], x.device)
    return ranks.view(1, 1, -1) if positions is None else positions[..., ranks]
