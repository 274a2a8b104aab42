"""The lab's Transformer as a language model: logits of the next token, after every token."""

from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from synthlab.config.registry import Registry
from synthlab.models.layers import Linear, gather_rows
from synthlab.models.packing import PackedTokens
from synthlab.models.transformer import Decoder


class LanguageModel(Decoder):
    """A decoder with a language-model head. Tensor letters: E models, B batch, T tokens, V vocabulary.

    There is no BOS: a window begins anywhere in a text, at position 0.
    """

    def make_head(self, models, width, hidden, vocabulary):
        return Linear(models, width, vocabulary)

    def forward(
        self, x: Int[Tensor, "E B T"], positions: Int[Tensor, "#E #B T"] | None = None
    ) -> Float[Tensor, "E B T V"]:
        """Logits of the next token after each prefix of ``x``. ``positions`` are 0..T - 1 unless given."""
        if positions is None:
            positions = torch.arange(x.shape[-1], device=x.device).view(1, 1, -1)
        own = positions.unsqueeze(-1)
        keys = torch.cat((positions.unsqueeze(-2).expand(*positions.shape, -1), own), -1)
        tokens = PackedTokens(positions, causal_mask(x.shape[-1], x.device), self.encoding.bias(own, keys))
        h = self.encoding.embed(gather_rows(self.token_embeddings, x), positions)
        for block in self.blocks:
            h = block(h, tokens, self.encoding)
        return self.head(self.norm(h))


@lru_cache(maxsize=64)
def causal_mask(length: int, device: torch.device) -> Bool[Tensor, "T K"]:
    """True where a token sees another: itself and all before it. K = T + 1, as in the packed layout, whose last column
    is the query's own token; it is masked here, since each token is among the first T keys."""
    before = torch.ones(length, length, dtype=torch.bool).tril()
    return torch.cat((before, torch.zeros(length, 1, dtype=torch.bool)), 1).to(device)


MODELS = Registry("model", nn.Module, {"transformer": LanguageModel})
