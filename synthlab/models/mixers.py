"""Mixers: what a block has in place of attention, such as a recurrence. ``model.mixer`` names one.

A mixer maps the hidden states of whole texts to as many of the same width, and no output depends on a later token.
Where a row holds all prefixes of a sequence (``packing``), each prefix still has the outputs that it has alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import torch
from jaxtyping import Float
from pydantic import BeforeValidator
from torch import Tensor, nn
from torch.nn import functional as F

from synthlab.models.encodings.base import Dims
from synthlab.models.layers import Generators, Linear
from synthlab.runs.registry import Registry
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


class GRU(Recurrence):
    """A gated recurrent unit, with the equations of ``torch.nn.GRU`` (Cho et al., 2014, arXiv 1406.1078)."""

    def __init__(self, dims: Dims, /):
        super().__init__()
        self.inputs = Linear(dims.models, dims.width, 3 * dims.width)
        self.states = Linear(dims.models, dims.width, 3 * dims.width)

    def prepare(self, h):
        return self.inputs(h)

    def start(self, h):
        return (torch.zeros_like(h[:, :, 0]),)

    def step(self, x, state):
        (hidden,) = state
        x_reset, x_update, x_new = x.chunk(3, -1)
        h_reset, h_update, h_new = self.states(hidden).chunk(3, -1)
        new = (x_new + (x_reset + h_reset).sigmoid() * h_new).tanh()
        hidden = new + (x_update + h_update).sigmoid() * (hidden - new)
        return hidden, (hidden,)


class LSTM(Recurrence):
    """A long short-term memory, with the equations of ``torch.nn.LSTM`` (Hochreiter and Schmidhuber, 1997).

    The bias of the forget gate begins at 1 (Jozefowicz et al., 2015).
    """

    def __init__(self, dims: Dims, /):
        super().__init__()
        self.width = dims.width
        self.inputs = Linear(dims.models, dims.width, 4 * dims.width)
        self.states = Linear(dims.models, dims.width, 4 * dims.width)

    def initialise(self, generators):
        self.inputs.bias.data[..., self.width : 2 * self.width] = 1.0

    def prepare(self, h):
        return self.inputs(h)

    def start(self, h):
        zeros = torch.zeros_like(h[:, :, 0])
        return zeros, zeros

    def step(self, x, state):
        hidden, cell = state
        enter, forget, new, out = (x + self.states(hidden)).chunk(4, -1)
        cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
        hidden = out.sigmoid() * cell.tanh()
        return hidden, (hidden, cell)


class DeltaNet(Recurrence):
    """A linear recurrence by the delta rule: each head keeps a matrix S, and its output is S q.

    S_t = S_{t-1} (I - b_t k_t k_t') + b_t v_t k_t', with keys of length 1 (Yang et al., 2024, arXiv 2406.06484). As
    there, queries, keys and values go through SiLU, and outputs through RMSNorm and a linear layer; there are no short
    convolutions. b is in (0, 1), or with ``negative`` in (0, 2), so that eigenvalues are in (-1, 1), which tracking
    states such as parity needs (Grazzi et al., 2025, arXiv 2411.12537).
    """

    def __init__(self, dims: Dims, /, negative: bool = False):
        super().__init__()
        self.heads, self.largest = dims.heads, 2.0 if negative else 1.0
        self.inputs = Linear(dims.models, dims.width, 3 * dims.width)
        self.rates = Linear(dims.models, dims.width, dims.heads)
        self.put_out = Linear(dims.models, dims.width, dims.width)

    def prepare(self, h):
        q, k, v = F.silu(self.inputs(h)).unflatten(-1, (3, self.heads, -1)).unbind(-3)  # E B T H d
        # Repeated along d before the sigmoid, which rounds otherwise where few numbers do not fill a vector.
        b = self.largest * self.rates(h).unsqueeze(-1).expand(v.shape).contiguous().sigmoid()
        return torch.cat((F.normalize(q, dim=-1), F.normalize(k, dim=-1), v, b), -1)

    def start(self, h):
        d = h.shape[-1] // self.heads
        return (h.new_zeros(*h.shape[:2], self.heads, d, d),)

    def step(self, x, state):
        (s,) = state  # E B H v k
        q, k, v, b = x.chunk(4, -1)  # E B H d
        read = (s * k.unsqueeze(-2)).sum(-1)
        s = s + (b * (v - read)).unsqueeze(-1) * k.unsqueeze(-2)
        return (s * q.unsqueeze(-2)).sum(-1), (s,)

    def finish(self, outputs):
        return self.put_out(F.rms_norm(outputs, outputs.shape[-1:], eps=1e-5).flatten(-2))


class MixerLayer(nn.Module):
    """A mixer as the part of a block that is otherwise attention."""

    CALLED = ""

    def __init__(self, mixer: Mixer):
        super().__init__()
        self.mixer = mixer

    def forward(self, h: Float[Tensor, "*B T D"], layout: "Causal") -> Float[Tensor, "*B Q D"]:
        return layout.read_texts(self.mixer, h)[..., layout.first_query :, :]


MIXERS = Registry("model.mixer", Mixer, {"gru": GRU, "lstm": LSTM, "delta": DeltaNet})


def _complete(mixer: Any) -> Any:
    """Return a mapping in place of a name, and None for attention."""
    given = mixer if isinstance(mixer, Mapping) or mixer is None else {"name": mixer}
    return None if given == {"name": "attention"} else given


Setting = Annotated[Mapping[str, Any] | None, BeforeValidator(_complete)]
