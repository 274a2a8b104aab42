"""Decoder-only Transformers, an ensemble of E models of one shape, that predict a value for every prefix.

They are independent of tasks. Read from ``Transformer.forward`` to ``attention.Block`` and ``attention.Attention``.

Tensor letters: E models, B batch, L sequence length, D model width; T = 2L + 1 packed tokens (see ``packing``); R = 3L
+ 1 rows of the table of unique tokens, over which the first block runs (see ``unique_tokens``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, Any, cast

from jaxtyping import Float, Int
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn

from synthlab.errors import InputError
from synthlab.models.attention import Block, Kind, Norm
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.layers import MLP, Generators, LayerNorm, Linear, ensemble_parameter, gather_rows, init_normal
from synthlab.models.packing import VOCABULARY, lay_out, pack, pack_positions
from synthlab.models.unique_tokens import make_token_table, run_first_block

# Up to this length the first layer computes over the table of unique tokens. For longer sequences the table's R x R
# logits cost more than they save.
TABLE_LENGTH = 24


class Decoder(nn.Module, ABC):
    """Token embeddings, blocks and a head.

    ``make_encoding`` builds the position encoding from the sizes that it needs. The ensemble has a model for each of
    ``generators``, which initializes its weights. Raises InputError for sizes that do not fit.
    """

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
    ):
        super().__init__()
        models, hidden = len(generators), max(1, round(mlp_ratio * width))
        self.encoding = self.fit_encoding(make_encoding, models, width=width, heads=heads)
        self.token_embeddings = ensemble_parameter(models, vocabulary, width)
        blocks = nn.ModuleList(Block(models, width, heads, hidden, norm, attention) for _ in range(depth))
        self.blocks = cast(Sequence[Block], blocks)  # a ModuleList does not declare the type of its modules
        self.norm = LayerNorm(models, width) if norm == "pre" else nn.Identity()
        self.head = self.make_head(models, width, hidden, vocabulary)
        self.initialise(generators, init_scale)

    @staticmethod
    def fit_encoding(
        make_encoding: Callable[[Dims], Encoding], models: int, *, width: int, heads: int, **others: Any
    ) -> Encoding:
        """Return the encoding of models of these sizes. Raises InputError for heads that do not divide the width."""
        if width % heads:
            divisors = ", ".join(str(n) for n in range(1, width + 1) if width % n == 0)
            raise InputError(f"model.heads={heads}: must divide model.width={width}; choose from {divisors}")
        return make_encoding(Dims(width, heads, models))

    @abstractmethod
    def make_head(self, models: int, width: int, hidden: int, vocabulary: int) -> nn.Module:
        """Return the layer from the normalized residual stream to the output."""

    def embed(self, tokens: Int[Tensor, "#E B T"], positions: Int[Tensor, "#E #B T"]) -> Float[Tensor, "E B T D"]:
        """Return the input of the first block: the tokens' embeddings plus what the encoding adds."""
        return self.encoding.embed(gather_rows(self.token_embeddings, tokens), positions)

    def initialise(self, generators: Generators, scale: float) -> None:
        """Initialize all weights: embeddings with standard deviation 1, others with scale / sqrt(inputs), biases 0."""
        init_normal(self.token_embeddings, 1.0, generators)
        self.encoding.initialise(generators)
        for module in self.modules():
            if isinstance(module, Linear):
                module.initialise(scale, generators)


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
        length, blocks = x.shape[-1], list(self.blocks)
        places = pack_positions(length, positions, x.device)
        if positions is None and length <= TABLE_LENGTH:
            h = self.embed(*make_token_table(length, x.device).view(2, 1, 1, -1))  # E 1 R D
            h = run_first_block(blocks.pop(0), h, x, self.encoding, only_readouts=not blocks)
        else:
            h = self.embed(pack(x), places)
        if blocks:
            layout = lay_out(length, places, self.encoding)
            for block in blocks[:-1]:
                h = block(h, layout, self.encoding)  # E B T D
            h = blocks[-1](h, layout.only_last(length), self.encoding)  # E B L D
        return self.head(self.norm(h)).squeeze(-1)
