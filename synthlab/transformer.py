"""A decoder-only Transformer that reads out every prefix of its input. It knows nothing of tasks.

Tensor letters: B batch, L sequence length, P = L + 1 (with BOS), T = 2L + 1 (packed), D model width, H heads, d head
width, Q queries, K = P + 1 keys (those of BOS, x1..xL, and each token's own; see ``packing``).
"""

import math
from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn

from synthlab import packing
from synthlab.encodings import Dims, Encoding
from synthlab.errors import InputError

Norm = Literal["pre", "post", "none"]
Kind = Literal["softmax", "linear"]


class Sight(NamedTuple):
    """What the tokens from ``first`` on can attend to. ``first`` is 0, or P in the last layer: only readouts ask."""

    first: int
    positions: Int[Tensor, "*B T"]
    visible: Bool[Tensor, "Q K"]
    bias: Float[Tensor, "*#B H Q K"] | None


class Attention(nn.Module):
    """Multi-head attention: softmax, or linear with logits divided by the number of keys seen (equation 6)."""

    def __init__(self, width: int, heads: int, kind: Kind):
        super().__init__()
        self.heads, self.kind = heads, kind
        self.queries = linear(width, width)
        self.keys_values = linear(width, 2 * width)
        self.output = linear(width, width)

    def forward(self, h: Float[Tensor, "B T D"], sight: Sight, encoding: Encoding) -> Float[Tensor, "B Q D"]:
        """What each token from ``sight.first`` on gathers from the keys it sees."""
        weights, v = self.attend(h, sight, encoding)
        prefix = weights.shape[-1] - 1
        gathered = weights[..., :prefix] @ v[:, :, :prefix] + weights[..., prefix:] * v[:, :, sight.first :]
        return self.output(gathered.transpose(1, 2).flatten(-2))

    def attend(
        self, h: Float[Tensor, "B T D"], sight: Sight, encoding: Encoding
    ) -> tuple[Float[Tensor, "B H Q K"], Float[Tensor, "B H T d"]]:
        """The attention weights of those tokens, and every token's values."""
        first, positions, visible, _ = sight
        prefix = visible.shape[1] - 1
        q = self.queries(h[:, first:]).unflatten(-1, (self.heads, -1))
        k, v = self.keys_values(h).unflatten(-1, (2, self.heads, -1)).unbind(-3)
        q = encoding.rotate(q, positions[..., first:]).transpose(1, 2)  # B H Q d
        k = encoding.rotate(k, positions).transpose(1, 2)  # B H T d
        v = v.transpose(1, 2)  # B H T d
        own = (q * k[:, :, first:]).sum(-1, keepdim=True)
        return self.weights(torch.cat((q @ k[:, :, :prefix].mT, own), -1), sight), v

    def weights(self, products: Float[Tensor, "B H Q K"], sight: Sight) -> Float[Tensor, "B H Q K"]:
        """Attention weights from the products of queries and keys; 0 where a key is not seen."""
        if self.kind == "softmax":
            # d^-1/2 keeps products of independent unit entries at variance 1; equation 6 has no such factor.
            products = products * (self.output.in_features // self.heads) ** -0.5
        logits = products if sight.bias is None else products + sight.bias
        if self.kind == "softmax":
            return logits.masked_fill(~sight.visible, -math.inf).softmax(-1)
        return logits * (sight.visible / sight.visible.sum(-1, keepdim=True))


class MLP(nn.Sequential):
    """A feed-forward net with one hidden layer."""

    def __init__(self, width: int, hidden: int, out: int):
        super().__init__(linear(width, hidden), nn.GELU(), linear(hidden, out))


class Block(nn.Module):
    """Attention and a feed-forward net, each added to the stream and normalized before, after or not at all."""

    def __init__(self, width: int, heads: int, hidden: int, norm: Norm, kind: Kind):
        super().__init__()
        self.attention = Attention(width, heads, kind)
        self.mlp = MLP(width, hidden, width)
        norms = [nn.LayerNorm(width) if norm == place else nn.Identity() for place in ("pre", "post") for _ in range(2)]
        self.pre1, self.pre2, self.post1, self.post2 = norms

    def forward(self, h: Float[Tensor, "B T D"], sight: Sight, encoding: Encoding) -> Float[Tensor, "B Q D"]:
        """The stream of the tokens from ``sight.first`` on."""
        h = self.post1(h[:, sight.first :] + self.attention(self.pre1(h), sight, encoding))
        return self.post2(h + self.mlp(self.pre2(h)))


class Transformer(nn.Module):
    """Blocks between token embeddings and a feed-forward readout (paper, appendix A).

    ``make_encoding`` is given the sizes that a position encoding needs. Weights are drawn from ``generator``; raises
    InputError for sizes that do not fit.
    """

    def __init__(
        self,
        make_encoding: Callable[[Dims], Encoding],
        generator: torch.Generator,
        /,
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
        hidden = max(1, round(mlp_ratio * width))
        self.encoding = make_encoding(Dims(width, heads))
        self.tokens = nn.Embedding(packing.VOCABULARY, width, _weight=torch.empty(packing.VOCABULARY, width))
        self.blocks = nn.ModuleList(Block(width, heads, hidden, norm, attention) for _ in range(depth))
        self.norm = nn.LayerNorm(width) if norm == "pre" else nn.Identity()
        self.readout = MLP(width, hidden, 1)
        self.initialise(generator, init_scale)

    def initialise(self, generator: torch.Generator, scale: float) -> None:
        """Draw all weights anew: embeddings with deviation 1, others with scale / sqrt(inputs), biases 0."""
        nn.init.normal_(self.tokens.weight, generator=generator)
        self.encoding.initialise(generator)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=scale / math.sqrt(module.in_features), generator=generator)
                nn.init.zeros_(module.bias)

    def forward(self, x: Int[Tensor, "B L"], positions: Int[Tensor, "B L+2"] | None = None) -> Float[Tensor, "B L"]:
        """The readout of every prefix ``x[:, :k]``. ``positions`` are those of BOS, x1..xL and the last EOS where they
        differ from 0..L + 1; each EOS takes the one after its prefix."""
        h, sight = self.before_last(x, positions)
        return self.readout(self.norm(self.blocks[-1](h, sight, self.encoding))).squeeze(-1)

    def readout_attention(
        self, x: Int[Tensor, "B L"], positions: Int[Tensor, "B L+2"] | None = None
    ) -> Float[Tensor, "B H L K"]:
        """How much each readout attends, in the last layer, to BOS, x1..xL and itself."""
        h, sight = self.before_last(x, positions)
        block = self.blocks[-1]
        return block.attention.attend(block.pre1(h), sight, self.encoding)[0]

    def before_last(
        self, x: Int[Tensor, "B L"], positions: Int[Tensor, "B L+2"] | None
    ) -> tuple[Float[Tensor, "B T D"], Sight]:
        """The stream before the last layer, and what the readouts, alone there in asking, can attend to."""
        ranks = packing.ranks(x.shape[1], x.device)
        sight = self.sight(ranks if positions is None else positions[:, ranks], x.shape[1])
        h = self.encoding.embed(self.tokens(packing.pack(x)), sight.positions)
        for block in self.blocks[:-1]:
            h = block(h, sight, self.encoding)
        first = x.shape[1] + 1
        bias = None if sight.bias is None else sight.bias[..., first:, :]
        return h, Sight(first, sight.positions, sight.visible[first:], bias)

    def sight(self, positions: Int[Tensor, "*B T"], length: int) -> Sight:
        """What every packed token can attend to."""
        own = positions.unsqueeze(-1)
        prefix = positions[..., None, : length + 1].expand(*positions.shape, -1)
        bias = self.encoding.bias(own, torch.cat((prefix, own), -1))
        return Sight(0, positions, packing.visible(length, positions.device), bias)


def linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer whose weights the model draws: the layer's own constructor would use the global generator."""
    return nn.utils.skip_init(nn.Linear, inputs, outputs)
