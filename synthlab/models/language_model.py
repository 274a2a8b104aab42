"""The lab's Transformer as a language model: logits of the next token, after every token."""

from collections.abc import Sequence
from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from synthlab.config.registry import Registry
from synthlab.models.encodings.base import Encoding
from synthlab.models.layers import Linear, gather_rows
from synthlab.models.packing import PackedTokens
from synthlab.models.padding import token_positions
from synthlab.models.transformer import Decoder


class LanguageModel(Decoder):
    """A decoder with a language-model head. Tensor letters: E models, B batch, T tokens, V vocabulary.

    There is no BOS: a window begins anywhere in a text, at position 0.
    """

    def make_head(self, models, width, hidden, vocabulary):
        return Linear(models, width, vocabulary)

    def forward(
        self,
        x: Int[Tensor, "E B T"],
        positions: Int[Tensor, "#E #B T"] | None = None,
        mask: Bool[Tensor, "H T T"] | None = None,
    ) -> Float[Tensor, "E B T V"]:
        """Logits of the next token after each prefix of ``x``. ``positions`` are 0..T - 1 unless given; ``mask`` says
        which keys the queries of each head see, unless they see all before them."""
        if positions is None:
            positions = torch.arange(x.shape[-1], device=x.device).view(1, 1, -1)
        own = positions.unsqueeze(-1)
        keys = torch.cat((positions.unsqueeze(-2).expand(*positions.shape, -1), own), -1)
        bias, relative = self.encoding.bias(own, keys), self.encoding.relative(own, keys)
        seen = causal_mask(x.shape[-1], x.device) if mask is None else with_own(mask)
        tokens = PackedTokens(positions, seen, bias, relative=relative)
        return self.logits(x, [tokens] * len(self.blocks))

    def logits(self, x: Int[Tensor, "E B T"], tokens: Sequence[PackedTokens]) -> Float[Tensor, "E B T V"]:
        """Logits of the next token after each of ``x``; ``tokens`` says what they attend to in each block."""
        h = self.encoding.embed(gather_rows(self.token_embeddings, x), tokens[0].positions)
        for block, each in zip(self.blocks, tokens, strict=True):
            h = block(h, each, self.encoding)
        return self.head(self.norm(h))


@lru_cache(maxsize=64)
def causal_mask(length: int, device: torch.device) -> Bool[Tensor, "T K"]:
    """True where a token sees another: itself and all before it; as ``with_own``."""
    return with_own(torch.ones(length, length, dtype=torch.bool).tril()).to(device)


def with_own(mask: Bool[Tensor, "*H T T"]) -> Bool[Tensor, "*H T K"]:
    """``mask`` with K = T + 1 columns, as in the packed layout, whose last one is the query's own token; it is masked
    here, since each token is among the first T keys."""
    return torch.cat((mask, torch.zeros_like(mask[..., :1])), -1)


def attended(encoding: Encoding, is_token: Bool[Tensor, "B K"], new: int) -> PackedTokens:
    """What the ``new`` last tokens of texts attend to: the tokens up to themselves, without padding. Padding attends to
    itself as well, since attention to nothing is undefined.

    Args:
        encoding: The position encoding. Positions of a text count from its first token.
        is_token: False for padding; of the tokens of the cache, then of the new ones.
        new: The number of tokens after those of the cache.
    """
    total = is_token.shape[1]
    positions = token_positions(is_token)[None]  # 1 B K
    own = positions[..., total - new :, None]
    keys = torch.cat((positions.unsqueeze(-2).expand(*own.shape[:-1], -1), own), -1)  # 1 B T K+1
    causal = torch.ones(new, total, dtype=torch.bool, device=is_token.device).tril(total - new)
    # The last column is each token's own, as in the packed layout.
    mask = torch.cat((causal & is_token[:, None], ~is_token[:, total - new :, None]), -1)  # B T K+1
    bias, relative = encoding.bias(own, keys), encoding.relative(own, keys)
    return PackedTokens(own.squeeze(-1), mask[:, None], bias, relative=relative)


MODELS = Registry("model", nn.Module, {"transformer": LanguageModel})
