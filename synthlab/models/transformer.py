"""Decoder-only Transformers, an ensemble of E models of one shape, that predict a value for every prefix.

They know nothing of tasks. Read from ``Transformer.forward`` to ``attention.Block`` and ``attention.Attention``.

Tensor letters: E models, B batch, L sequence length, D model width, H heads, d head width; P = L + 1 tokens with BOS,
T = 2L + 1 packed tokens (see ``packing``), Q queries, K = P + 1 keys; in the first layer R = 3L + 1 rows of the table
of unique tokens, which are queries and keys (see ``unique_tokens``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, cast

from jaxtyping import Float, Int
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn

from synthlab.errors import InputError
from synthlab.models.attention import Block, Kind, Norm, Tokens
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.layers import MLP, Generators, LayerNorm, Linear, ensemble_parameter, gather_rows, init_normal
from synthlab.models.packing import VOCABULARY, pack, packed_positions, packed_tokens
from synthlab.models.unique_tokens import table, unique_tokens

# Up to this length the first layer computes over the table of unique tokens. Beyond it the table's R x R logits cost
# more than they save.
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
        if width % heads:
            divisors = ", ".join(str(n) for n in range(1, width + 1) if width % n == 0)
            raise InputError(f"model.heads={heads}: must divide model.width={width}; choose from {divisors}")
        models, hidden = len(generators), max(1, round(mlp_ratio * width))
        self.encoding = make_encoding(Dims(width, heads, models))
        self.token_embeddings = ensemble_parameter(models, vocabulary, width)
        blocks = nn.ModuleList(Block(models, width, heads, hidden, norm, attention) for _ in range(depth))
        self.blocks = cast(Sequence[Block], blocks)  # a ModuleList does not tell the type of its modules
        self.norm = LayerNorm(models, width) if norm == "pre" else nn.Identity()
        self.head = self.make_head(models, width, hidden, vocabulary)
        self.initialise(generators, init_scale)

    @abstractmethod
    def make_head(self, models: int, width: int, hidden: int, vocabulary: int) -> nn.Module:
        """The layer from the normalized residual stream to the output."""

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
        """The prediction for every prefix ``x[:, :, :k]``. ``positions``, unless they are 0..L + 1, are those of BOS,
        x1..xL and the last EOS; the EOS of a shorter prefix has the position after its prefix."""
        use_table = positions is None and x.shape[-1] <= TABLE_LENGTH
        if use_table:
            ids, places = table(x.shape[-1], x.device).view(2, 1, 1, -1)
        else:
            ids, places = pack(x), packed_positions(x.shape[-1], positions, x.device)
        h = self.encoding.embed(gather_rows(self.token_embeddings, ids), places)  # E B T D; of the table E 1 R D
        for block, tokens in zip(self.blocks, self.block_tokens(x, positions, use_table), strict=True):
            h = block(h, tokens, self.encoding)  # E B T D, from the last block E B L D
        return self.head(self.norm(h)).squeeze(-1)  # E B L

    def block_tokens(
        self, x: Int[Tensor, "E B L"], positions: Int[Tensor, "E B L+2"] | None, use_table: bool
    ) -> Iterator[Tokens]:
        """The tokens that each block attends over, in turn: the first may take the table of unique tokens, and the last
        computes only the EOS tokens, which are read out."""
        remaining = len(self.blocks)
        if use_table:
            yield unique_tokens(x, self.encoding, only_readouts=remaining == 1)
            remaining -= 1
        if remaining:
            packed = packed_tokens(x, positions, self.encoding)
            for _ in range(remaining - 1):
                yield packed
            yield packed.only_readouts()
