"""Gated recurrent networks, as torch.nn has them."""

import torch

from synthlab.models.encodings.base import Dims
from synthlab.models.layers import Linear
from synthlab.models.mixers.base import Recurrence


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
