"""Mixers: what a block has in place of attention, such as a recurrence. ``model.mixer`` names one.

A mixer maps the hidden states of whole texts to as many of the same width, and no output depends on a later token.
Where a row holds all prefixes of a sequence (``packing``), each prefix still has the outputs that it has alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from synthlab.models.layers import Generators
from synthlab.runs.sources import Sourced

if TYPE_CHECKING:
    from synthlab.models.attention import Causal

State = tuple[Tensor, ...]  # tensors [E, B, ...]


class Mixer(Sourced, nn.Module, ABC):
    """A causal map of hidden states, for E models at once.

    A constructor takes ``Dims`` as its first, positional-only argument; its keyword arguments are the keys of
    ``model.mixer``. Parameters have E as their first dimension. A ``layers.Linear`` is initialized by the model.
    """

    def initialise(self, generators: Generators) -> None:
        """Initialize parameters outside ``layers.Linear``, those of each model with its own generator."""

    @abstractmethod
    def forward(self, h: Float[Tensor, "E B T D"]) -> Float[Tensor, "E B T D"]:
        """Return the output at each token of B texts, which depends on no later token."""

    def read_prefixes(
        self, prefix: Float[Tensor, "E B P D"], ends: Float[Tensor, "E B P-1 D"]
    ) -> tuple[Float[Tensor, "E B P D"], Float[Tensor, "E B P-1 D"]]:
        """Return the outputs at BOS, x1..xL, and at each EOS: the k-th of ``ends`` follows BOS, x1..xk.

        This reads each prefix as a text of its own, which takes L times as long; a ``Recurrence`` need not.
        """
        count = ends.shape[2]
        texts = F.pad(prefix, (0, 0, 0, 1)).unsqueeze(2).repeat(1, 1, count, 1, 1)  # E B L P+1 D
        k = torch.arange(count, device=ends.device)
        texts[:, :, k, k + 2] = ends
        return self(prefix), self(texts.flatten(1, 2)).unflatten(1, (-1, count))[:, :, k, k + 2]


class Recurrence(Mixer):
    """A mixer with a state, which ``step`` carries from token to token."""

    def prepare(self, h: Float[Tensor, "E B T D"]) -> Float[Tensor, "E B T *I"]:
        """Return what ``step`` gets of each token; what needs no state is faster here, for all tokens at once."""
        return h

    @abstractmethod
    def start(self, h: Float[Tensor, "E B T D"]) -> State:
        """Return the state before the first token: tensors [E, B, ...]."""

    @abstractmethod
    def step(self, x: Float[Tensor, "E B *I"], state: State) -> tuple[Float[Tensor, "E B *O"], State]:
        """Return the output at a token, and the state after it."""

    def finish(self, outputs: Float[Tensor, "E B T *O"]) -> Float[Tensor, "E B T D"]:
        """Return the mixer's outputs, given those of ``step``."""
        return outputs

    def forward(self, h):
        return self.scan(h)[0]

    def scan(self, h: Float[Tensor, "E B T D"]) -> tuple[Float[Tensor, "E B T D"], list[State]]:
        """Return the outputs, and the state after each token."""
        state, outputs, states = self.start(h), list[Tensor](), list[State]()
        for x in self.prepare(h).unbind(2):
            output, state = self.step(x, state)
            outputs.append(output)
            states.append(state)
        return self.finish(torch.stack(outputs, 2)), states

    def read_prefixes(self, prefix, ends):
        outputs, states = self.scan(prefix)
        # The state after each symbol is continued by one EOS; prefixes are then rows.
        after = tuple(torch.stack(each, 2).flatten(1, 2) for each in zip(*states[1:], strict=True))
        last, _ = self.step(self.prepare(ends).flatten(1, 2), after)
        return outputs, self.finish(last.unflatten(1, ends.shape[1:3]))


class MixerLayer(nn.Module):
    """A mixer as the part of a block that is otherwise attention."""

    CALLED = ""

    def __init__(self, mixer: Mixer):
        super().__init__()
        self.mixer = mixer

    def forward(self, h: Float[Tensor, "*B T D"], layout: "Causal") -> Float[Tensor, "*B Q D"]:
        return layout.read_texts(self.mixer, h)[..., layout.first_query :, :]


class LinearRecurrence(Mixer):
    """A mixer with states s_t = a_t s_{t-1} + b_t, number by number, computed for all tokens at once. s_0 is b_0."""

    @abstractmethod
    def prepare(self, h: Float[Tensor, "E B T D"]) -> tuple[Tensor, ...]:
        """Return a and b, [E, B, T, *S], and what else ``finish`` takes, all token by token."""

    @abstractmethod
    def finish(self, states: Float[Tensor, "E B T *S"], others: Sequence[Tensor]) -> Float[Tensor, "E B T D"]:
        """Return the mixer's outputs, given the states and the rest of what ``prepare`` returned."""

    def forward(self, h):
        a, b, *others = self.prepare(h)
        return self.finish(scan(a, b), others)

    def read_prefixes(self, prefix, ends):
        a, b, *others = self.prepare(prefix)
        states = scan(a, b)
        a, b, *of_ends = self.prepare(ends)  # each EOS continues the state after its prefix
        return self.finish(states, others), self.finish(a * states[:, :, 1:] + b, of_ends)


def scan(a: Float[Tensor, "E B T *S"], b: Float[Tensor, "E B T *S"]) -> Float[Tensor, "E B T *S"]:
    """Return the states s_t = a_t s_{t-1} + b_t of all tokens, with s_0 = b_0, in log T rounds.

    Two steps together are a step of the same form. Pairs of steps lead to the states at odd places, by recursion, and
    a single step from these to those at even places.

    Example:
        >>> import torch
        >>> from synthlab.models.mixers.base import scan
        >>> a, b = torch.full((1, 1, 5, 1), 0.5), torch.ones(1, 1, 5, 1)
        >>> scan(a, b).flatten().tolist()
        [1.0, 1.5, 1.75, 1.875, 1.9375]
    """
    count = b.shape[2]
    if count == 1:
        return b
    pairs = count // 2
    odd = scan(a[:, :, 1::2] * a[:, :, : 2 * pairs : 2], a[:, :, 1::2] * b[:, :, : 2 * pairs : 2] + b[:, :, 1::2])
    before = odd[:, :, : (count - 1) // 2]
    even = torch.cat((b[:, :, :1], a[:, :, 2::2] * before + b[:, :, 2::2]), 2)
    states = torch.stack((even[:, :, :pairs], odd), 3).flatten(2, 3)
    return states if count % 2 == 0 else torch.cat((states, even[:, :, -1:]), 2)
