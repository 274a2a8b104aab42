"""The lab's Transformer as a language model: logits of the next token at every token."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from synthlab.config.registry import Registry
from synthlab.models.attention import Causal, causal_mask
from synthlab.models.encodings.base import Encoding
from synthlab.models.layers import Linear
from synthlab.models.ragged import Ragged
from synthlab.models.transformer import Decoder


class LanguageModel(Decoder):
    """A decoder with a language-model head. Tensor letters: E models, B batch, T tokens, V vocabulary.

    There is no BOS: a window may start anywhere in a text, always at position 0.
    """

    def make_head(self, models, width, hidden, vocabulary):
        return Linear(models, width, vocabulary)

    def forward(
        self,
        x: Int[Tensor, "E B T"],
        positions: Int[Tensor, "#E #B T"] | None = None,
        mask: Bool[Tensor, "H T T"] | None = None,
        last: int | None = None,
    ) -> Float[Tensor, "E B n V"]:
        """Return logits of the next token after each prefix of ``x``.

        Args:
            x: Texts.
            positions: The position of each token; None for 0..T - 1.
            mask: True where a query of a head sees a key; None for the causal mask.
            last: Return logits only for the last n = ``last`` tokens; None for all.
        """
        positions = count_up(x) if positions is None else positions
        seen = causal_mask(x.shape[-1], x.device) if mask is None else mask
        layout = Causal.build(self.encoding, positions, seen)
        ending = layout if last is None else layout.only_last(last)
        return self.logits(x, [layout] * (len(self.blocks) - 1) + [ending])

    def without_padding(
        self, x: Int[Tensor, "1 B T"], positions: Int[Tensor, "#E #B T"] | None, sizes: Int[Tensor, "1 B"]
    ) -> Float[Tensor, "1 B T V"]:
        """Return the logits of the first ``sizes`` tokens of each text, without computing padding, which gets zeros.

        This is ``forward`` for an ensemble of one.
        """
        layout = Ragged.of(self.encoding, count_up(x) if positions is None else positions, sizes)
        return layout.spread(self.logits(layout.flatten(x), [layout] * len(self.blocks)))

    def logits(self, x: Int[Tensor, "E B T"], layouts: Sequence[Causal]) -> Float[Tensor, "E B Q V"]:
        """Return logits of the next token at each query of ``x``; ``layouts`` has each block's attention layout."""
        h = self.embed(x, layouts[0].positions)
        for block, layout in zip(self.blocks, layouts, strict=True):
            h = block(h, layout, self.encoding)
        return self.head(self.norm(h))


def count_up(x: Int[Tensor, "E B T"]) -> Int[Tensor, "1 1 T"]:
    """Return the positions 0..T - 1."""
    return torch.arange(x.shape[-1], device=x.device).view(1, 1, -1)


def takes_shortcuts(model: nn.Module) -> bool:
    """Return True if a model offers ``last`` and ``without_padding``: the lab's own does, a user's does not."""
    return type(model) is LanguageModel


def continue_text(encoding: Encoding, is_token: Bool[Tensor, "B K"], new: int) -> Causal:
    """Lay out the ``new`` last tokens of texts.

    They attend to the tokens up to themselves, without padding. Padding attends to itself as well, since attention to
    nothing is undefined.

    Args:
        encoding: The position encoding. Positions of a text count from its first token.
        is_token: False for padding; first the tokens of the cache, then the new ones.
        new: The number of tokens after those of the cache.
    """
    total = is_token.shape[1]
    causal = causal_mask(total, is_token.device)[total - new :]
    own = torch.eye(total, dtype=torch.bool, device=is_token.device)[total - new :]
    mask = causal & (is_token[:, None] | own)  # B T K
    return Causal.build(encoding, token_positions(is_token)[None], mask[:, None])


def token_positions(is_token: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Return the position of each token, counted from 0 within its text.

    Args:
        is_token: False for padding.

    Returns:
        The position of each token. Padding has that of the token before it, or 0.
    """
    return (is_token.cumsum(-1) - 1).clamp(min=0)


MODELS = Registry(
    "model",
    nn.Module,
    {"transformer": LanguageModel},
    call="Class(make_encoding, generators, vocabulary, /, **settings)",
)
