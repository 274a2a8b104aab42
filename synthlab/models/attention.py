"""The layers of decoder-only Transformers, E of one shape side by side: attention and feed-forward nets.

Tensor letters are those of ``transformer``: E models, B batch, T tokens, R = 3L + 1 (the menu), D model width, H heads,
d head width, Q queries, K keys, the last of which is each token's own.
"""

import math
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from synthlab.models.encoding_base import Encoding
from synthlab.models.layers import MLP, LayerNorm, Linear, take

Norm = Literal["pre", "post", "none"]
Kind = Literal["softmax", "linear"]


class Sight(NamedTuple):
    """What the tokens from ``first`` on can attend to. ``first`` is 0, or P in the last layer: only readouts ask."""

    first: int
    positions: Int[Tensor, "#E #B T"]
    visible: Bool[Tensor, "Q K"]
    bias: Float[Tensor, "#E #B H Q K"] | None

    def of_readouts(self) -> "Sight":
        """What the readouts alone can attend to."""
        first = self.visible.shape[1] - 1
        bias = None if self.bias is None else self.bias[..., first:, :]
        return Sight(first, self.positions, self.visible[first:], bias)


class Menu(NamedTuple):
    """What the first layer needs to attend over the menu. ``asking`` says where on it each asking token stands; None if
    only readouts ask, which stand at its end in every sequence."""

    asking: Int[Tensor, "E B Q"] | None
    positions: Int[Tensor, "1 1 R"]
    visible: Bool[Tensor, "R R"]
    present: Bool[Tensor, "E B R"]
    bias: Float[Tensor, "#E 1 H R R"] | None

    def rows(self, table: Float[Tensor, "E R *F"]) -> Float[Tensor, "E b Q *F"]:
        """The table's rows of the asking tokens."""
        if self.asking is None:
            return table[:, None, -(table.shape[1] // 3) :]
        return take(table, self.asking)


class Attention(nn.Module):
    """Multi-head attention: softmax, or linear with logits divided by the number of keys seen (equation 6)."""

    def __init__(self, models: int, width: int, heads: int, kind: Kind):
        super().__init__()
        self.heads, self.kind = heads, kind
        self.queries = Linear(models, width, width)
        self.keys_values = Linear(models, width, 2 * width)
        self.output = Linear(models, width, width)

    def forward(self, h: Float[Tensor, "E B T D"], sight: Sight, encoding: Encoding) -> Float[Tensor, "E B Q D"]:
        """What each token from ``sight.first`` on gathers from the keys it sees."""
        weights, v = self.attend(h, sight, encoding)
        prefix = weights.shape[-1] - 1
        gathered = weights[..., :prefix] @ v[..., :prefix, :] + weights[..., prefix:] * v[..., sight.first :, :]
        return self.output(gathered.transpose(2, 3).flatten(-2))

    def attend(
        self, h: Float[Tensor, "E B T D"], sight: Sight, encoding: Encoding
    ) -> tuple[Float[Tensor, "E B H Q K"], Float[Tensor, "E B H T d"]]:
        """The attention weights of those tokens, and every token's values."""
        logits, v = self.score(h, sight, encoding)
        return self.weights(self.hide(logits, sight.visible)), v

    def score(
        self, h: Float[Tensor, "E B T D"], sight: Sight, encoding: Encoding
    ) -> tuple[Float[Tensor, "E B H Q K"], Float[Tensor, "E B H T d"]]:
        """Those tokens' logits, what is not visible among them, and every token's values."""
        first, positions, visible, bias = sight
        prefix = visible.shape[1] - 1
        q, k, v = self.project(h, first, positions, encoding)
        own = (q * k[..., first:, :]).sum(-1, keepdim=True)
        products = torch.cat((q @ k[..., :prefix, :].mT, own), -1)
        return self.logits(products, bias, visible.sum(-1, keepdim=True)), v

    def over_menu(self, h: Float[Tensor, "E 1 R D"], menu: Menu, encoding: Encoding) -> Float[Tensor, "E B Q D"]:
        """``forward``, where the stream ``h`` of the menu says all: projections and products are then taken once, not
        for each sequence."""
        q, k, v = (part.squeeze(1).contiguous() for part in self.project(h, 0, menu.positions, encoding))  # E H R d
        products = q @ k.mT
        if products.requires_grad:  # a stack of one would keep the transposed layout below, and round otherwise
            products.register_hook(torch.Tensor.contiguous)
        seen = menu.positions.view(-1, 1) + 1  # BOS, all before, and itself
        logits = self.logits(products, None if menu.bias is None else menu.bias.squeeze(1), seen)
        rows = menu.rows(self.hide(logits, menu.visible).transpose(1, 2))  # E B Q H R
        weights = self.weights(self.hide(rows, menu.present[:, :, None, None]))
        # The output map, too, is taken once: of each head's values.
        answers = v @ self.output.weight.unflatten(1, (self.heads, -1))  # E H R D
        gathered = torch.baddbmm(self.output.bias, weights.flatten(-2).flatten(1, 2), answers.flatten(1, 2))
        return gathered.unflatten(1, weights.shape[1:3])

    def project(
        self, h: Float[Tensor, "E B T D"], first: int, positions: Int[Tensor, "#E #B T"], encoding: Encoding
    ) -> tuple[Float[Tensor, "E B H Q d"], Float[Tensor, "E B H T d"], Float[Tensor, "E B H T d"]]:
        """Queries of the tokens from ``first`` on, and keys and values of all."""
        q = self.queries(h[:, :, first:]).unflatten(-1, (self.heads, -1))
        k, v = self.keys_values(h).unflatten(-1, (2, self.heads, -1)).unbind(-3)
        asking = positions[..., first:]
        q, k = encoding.rotate(q, asking), encoding.rotate(k, positions)
        sharpness = encoding.sharpen(asking)
        if sharpness is not None:
            q = q * sharpness[..., None, None].to(q.dtype)
        return q.transpose(2, 3), k.transpose(2, 3), v.transpose(2, 3)

    def logits(
        self, products: Float[Tensor, "*N Q K"], bias: Float[Tensor, "*#N Q K"] | None, seen: Int[Tensor, "Q 1"]
    ) -> Float[Tensor, "*N Q K"]:
        """From products of queries and keys. d^-1/2 keeps those of independent unit entries at variance 1; equation 6
        has no such factor, but counts the keys."""
        if self.kind == "softmax":
            products = products * (self.output.weight.shape[1] // self.heads) ** -0.5
        logits = products if bias is None else products + bias
        return logits if self.kind == "softmax" else logits / seen

    def hide(self, logits: Float[Tensor, "..."], visible: Bool[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Logits that give no weight to keys which are not visible."""
        if self.kind == "linear":
            return logits * visible
        return logits + torch.zeros_like(visible, dtype=logits.dtype).masked_fill_(~visible, -math.inf)

    def weights(self, logits: Float[Tensor, "*N K"]) -> Float[Tensor, "*N K"]:
        """Attention weights."""
        return logits.softmax(-1) if self.kind == "softmax" else logits


class Block(nn.Module):
    """Attention and a feed-forward net, each added to the stream and normalized before, after or not at all."""

    def __init__(self, models: int, width: int, heads: int, hidden: int, norm: Norm, kind: Kind):
        super().__init__()
        self.attention = Attention(models, width, heads, kind)
        self.mlp = MLP(models, width, hidden, width)
        self.pre1, self.pre2 = (LayerNorm(models, width) if norm == "pre" else nn.Identity() for _ in range(2))
        self.post1, self.post2 = (LayerNorm(models, width) if norm == "post" else nn.Identity() for _ in range(2))

    def forward(self, h: Float[Tensor, "E B T D"], sight: Sight, encoding: Encoding) -> Float[Tensor, "E B Q D"]:
        """The stream of the tokens from ``sight.first`` on."""
        return self.feed(h[:, :, sight.first :], self.attention(self.pre1(h), sight, encoding))

    def over_menu(self, h: Float[Tensor, "E 1 R D"], menu: Menu, encoding: Encoding) -> Float[Tensor, "E B Q D"]:
        """The stream of the tokens that ask, from that of the menu."""
        return self.feed(menu.rows(h.squeeze(1)), self.attention.over_menu(self.pre1(h), menu, encoding))

    def feed(self, h: Float[Tensor, "E #B Q D"], gathered: Float[Tensor, "E B Q D"]) -> Float[Tensor, "E B Q D"]:
        """The stream after what was gathered, and after the feed-forward net."""
        h = self.post1(h + gathered)
        return self.post2(h + self.mlp(self.pre2(h)))
