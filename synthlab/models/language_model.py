"""The lab's Transformer as a language model: logits of the next token at every token."""

from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from synthlab.models.attention import Causal, causal_mask, lay_out_layers
from synthlab.models.encodings.base import Encoding
from synthlab.models.layers import Linear, call_each
from synthlab.models.ragged import Ragged
from synthlab.models.reference import read
from synthlab.models.transformer import Decoder, count_up
from synthlab.runs.registry import Registry


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
        """Return logits of the next token after each prefix of ``x``. Arguments are those of ``read``."""
        return self.read(x, positions, mask, last)

    def without_padding(
        self, x: Int[Tensor, "1 B T"], positions: Int[Tensor, "#E #B T"] | None, sizes: Int[Tensor, "1 B"]
    ) -> Float[Tensor, "1 B T V"]:
        """Return the logits of the first ``sizes`` tokens of each text, without computing padding, which gets zeros.

        This is ``forward`` for an ensemble of one.
        """
        places = count_up(x) if positions is None else positions
        layouts = lay_out_layers(self.encodings(), lambda encoding: Ragged.of(encoding, places, sizes))
        first = cast(Ragged, layouts[0])
        return first.spread(self.decode(first.flatten(x), layouts))


class ReferenceLanguageModel(Decoder):
    """The language model as ``models.reference`` reads it: one model at a time, and without shortcuts."""

    make_head = LanguageModel.make_head

    def forward(
        self, x: Int[Tensor, "E B T"], positions: Int[Tensor, "E B T"] | None = None
    ) -> Float[Tensor, "E B T V"]:
        """Return logits of the next token after each prefix of ``x``."""
        if len(x) > 1:
            return call_each(self, x, positions)
        return read(self, x[0], None if positions is None else positions[0])[None]


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
    {"transformer": LanguageModel, "reference": ReferenceLanguageModel},
)
