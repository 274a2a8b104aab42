"""Decoder-only Transformers, an ensemble of E models of one shape, that predict a value for every prefix.

They are independent of tasks. ``reference`` computes the same plainly: read it first, then from ``Transformer.forward``
to ``attention.Block`` and ``attention.Attention``.

Tensor letters: E models, B batch, L sequence length, D model width; T = 2L + 1 packed tokens (see ``packing``); R = 3L
+ 1 rows of the table of unique tokens, over which the first block runs (see ``unique_tokens``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal, cast

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn

from synthlab.errors import InputError
from synthlab.models.attention import Block, Causal, Kind, Norm, causal_mask, lay_out_layers
from synthlab.models.convolutions import CONVOLUTIONS, Convolution
from synthlab.models.encodings.base import SEEING, Dims, Encoding
from synthlab.models.encodings.by_layer import Layered
from synthlab.models.layers import (
    MLP,
    Generators,
    HookPoint,
    LayerNorm,
    Linear,
    call_each,
    ensemble_parameter,
    gather_rows,
    init_normal,
    name_hook_points,
)
from synthlab.models.mixers import MIXERS, Mixer, Setting
from synthlab.models.packing import VOCABULARY, lay_out, pack
from synthlab.models.reference import predict_prefixes
from synthlab.models.unique_tokens import TokenTable

# Up to this length the first layer computes over the table of unique tokens. For longer sequences the table's R x R
# logits cost more than they save.
TABLE_LENGTH = 24


class Decoder(nn.Module, ABC):
    """Token embeddings, blocks and a head.

    ``make_encoding`` builds the position encoding from the sizes that it needs. The ensemble has a model for each of
    ``generators``, which initializes its weights. Raises InputError for sizes that do not fit.

    With ``mixer`` blocks have a mixer in place of attention, and with ``convolution`` a short one before either. With
    ``loops`` the blocks are repeated, with shared weights, and each repetition adds the embeddings again.
    """

    REGISTRIES: ClassVar = {"mixer": MIXERS}
    ADDED: ClassVar = ("mixer", "loops", "convolution")

    def __init__(
        self,
        make_encoding: Callable[[Dims], Encoding],
        generators: Generators,
        vocabulary: int = VOCABULARY,
        /,
        *,
        width: Annotated[int, Field(gt=0, le=16_384)],
        depth: Annotated[int, Field(gt=0, le=1_000)],
        heads: PositiveInt,
        mlp_ratio: Annotated[float, Field(gt=0, le=64)],
        norm: Norm,
        attention: Kind,
        init_scale: PositiveFloat,
        mixer: Setting = None,
        loops: Annotated[int, Field(gt=0, le=1_000)] = 1,
        convolution: Literal["none", "canon", "token_shift"] = "none",
    ):
        super().__init__()
        models, hidden = len(generators), max(1, round(mlp_ratio * width))
        sizes = {"width": width, "heads": heads, "depth": depth, "attention": attention, "mixer": mixer}
        self.encoding = self.build_encoding(make_encoding, models, **sizes)
        self.token_embeddings = ensemble_parameter(models, vocabulary, width)
        dims = Dims(width, heads, models, depth)
        mixers = [None if mixer is None else MIXERS.build(mixer, dims) for _ in range(depth)]
        convolutions = [CONVOLUTIONS[convolution](models, width) if convolution != "none" else None for _ in mixers]
        blocks = nn.ModuleList(
            Block(models, width, heads, hidden, norm, attention, mixers[i], convolutions[i]) for i in range(depth)
        )
        self.blocks = cast(Sequence[Block], blocks)  # a ModuleList does not declare the type of its modules
        self.loops, self.is_plain = loops, mixer is None and loops == 1 and convolution == "none"
        self.norm = LayerNorm(models, width) if norm == "pre" else nn.Identity()
        self.head = self.make_head(models, width, hidden, vocabulary)
        self.hook_embed, self.hook_pos_embed = HookPoint(), HookPoint()
        self.hook_normalized, self.hook_out = HookPoint(), HookPoint()
        name_hook_points(self)
        self.initialise(generators, init_scale)

    @staticmethod
    def build_encoding(
        make_encoding: Callable[[Dims], Encoding],
        models: int,
        *,
        width: int,
        heads: int,
        depth: int,
        attention: Kind,
        mixer: Any = None,
        **others: Any,
    ) -> Encoding:
        """Return the encoding of models of these sizes. Raises InputError for sizes that do not fit."""
        if width % heads:
            divisors = ", ".join(str(n) for n in range(1, width + 1) if width % n == 0)
            raise InputError(f"model.heads={heads}: must divide model.width={width}; choose from {divisors}")
        if mixer and attention == "linear":
            raise InputError(f"model.attention=linear: model.mixer={mixer['name']} has no attention; leave it out")
        dims = Dims(width, heads, models, depth)
        encoding = make_encoding(dims)
        if attention == "linear" and encoding.needs_softmax:
            raise InputError("model.attention=linear: this encoding needs softmax attention; choose softmax")
        if encoding.for_each_layer and depth > 1:
            return Layered([encoding, *(make_encoding(dims) for _ in range(depth - 1))])
        return encoding

    def encodings(self) -> list[Encoding]:
        """Return the encoding of each layer, in each loop."""
        return [self.encoding.at_layer(layer) for layer in range(len(self.blocks))] * self.loops

    @abstractmethod
    def make_head(self, models: int, width: int, hidden: int, vocabulary: int) -> nn.Module:
        """Return the layer from the normalized residual stream to the output."""

    def read(
        self,
        tokens: Int[Tensor, "*B T"],
        positions: Int[Tensor, "*#B T"] | None = None,
        mask: Bool[Tensor, "H T T"] | None = None,
        last: int | None = None,
    ) -> Float[Tensor, "*B n V"]:
        """Return the outputs at the tokens of whole texts, nothing packed.

        Args:
            tokens: Texts.
            positions: The position of each token; None for 0..T - 1.
            mask: True where a query of a head sees a key; None for the causal mask.
            last: Return only the outputs at the last n = ``last`` tokens; None for all.
        """
        positions = count_up(tokens) if positions is None else positions
        seen = causal_mask(tokens.shape[-1], tokens.device) if mask is None else mask
        layouts = lay_out_layers(self.encodings(), lambda encoding: Causal.build(encoding, positions, seen))
        if last is not None:
            layouts[-1] = layouts[-1].only_last(last)
        return self.decode(tokens, layouts)

    def decode(self, tokens: Int[Tensor, "*#B T"], layouts: Sequence[Causal]) -> Float[Tensor, "... Q V"]:
        """Return the output at each query of ``tokens``; ``layouts`` has each block's layout, in each loop."""
        h = embeddings = self.embed(tokens, layouts[0].positions)
        blocks = [*self.blocks]
        for place, (block, layout) in enumerate(zip(blocks * self.loops, layouts, strict=True)):
            if place and place % len(blocks) == 0:
                h = h + embeddings
            h = block(h, layout)
        return self.hook_out(self.head(self.hook_normalized(self.norm(h))))

    def embed(self, tokens: Int[Tensor, "*#B T"], positions: Int[Tensor, "*#B T"]) -> Float[Tensor, "*B T D"]:
        """Return the input of the first block: the tokens' embeddings plus what the encoding adds."""
        h = self.hook_embed(gather_rows(self.token_embeddings, tokens))
        encoded = self.encoding.embed(h, positions)
        return h + self.hook_pos_embed(encoded - h) if self.hook_pos_embed.is_watched else encoded

    def initialise(self, generators: Generators, scale: float) -> None:
        """Initialize all weights: embeddings with standard deviation 1, others with scale / sqrt(inputs), biases 0."""
        init_normal(self.token_embeddings, 1.0, generators)
        self.encoding.initialise(generators)
        for module in self.modules():
            if isinstance(module, Linear):
                module.initialise(scale, generators)
        for module in self.modules():
            if isinstance(module, Mixer | Convolution):
                module.initialise(generators)


class Transformer(Decoder):
    """A decoder with an MLP as its regression head, which predicts a number for every prefix (paper, appendix A)."""

    def make_head(self, models, width, hidden, vocabulary):
        return MLP(models, width, hidden, 1)

    def forward(
        self, x: Int[Tensor, "E B L"], positions: Int[Tensor, "E B L+2"] | None = None
    ) -> Float[Tensor, "E B L"]:
        """Return the prediction for every prefix ``x[:, :, :k]``.

        ``positions`` are those of BOS, x1..xL and the last EOS; None for 0..L + 1. The EOS of a shorter prefix has the
        position after its prefix.
        """
        first, *others = encodings = self.encodings()
        if self.is_plain and positions is None and x.shape[-1] <= TABLE_LENGTH and not first.hooks & SEEING:
            table = TokenTable.of(x, first, only_readouts=not others)
            tokens, layouts = table.tokens, [table, *lay_out(x, None, others)]
        else:
            tokens, layouts = pack(x), lay_out(x, positions, encodings)
        return self.decode(tokens, layouts).squeeze(-1)


class Reference(Transformer):
    """The Transformer as ``models.reference`` reads it: one model and one prefix at a time."""

    def forward(self, x, positions=None):
        if len(x) > 1:
            return call_each(self, x, positions)
        return predict_prefixes(self, x[0], None if positions is None else positions[0])[None]


def count_up(x: Int[Tensor, "... T"]) -> Int[Tensor, "1 1 T"]:
    """Return the positions 0..T - 1."""
    return torch.arange(x.shape[-1], device=x.device).view(1, 1, -1)
