"""Recurrent networks with a stack."""

import torch
from pydantic import PositiveInt

from synthlab.models.encodings.base import Dims
from synthlab.models.layers import Linear, ensemble_parameter, init_normal
from synthlab.models.mixers.base import Recurrence


class StackRNN(Recurrence):
    """A recurrent network that pushes to and pops from stacks, each to a degree.

    Sources: Joulin and Mikolov, 2015, arXiv 1503.01007, section 3.2; Deletang et al., 2023, arXiv 2207.02098. h_t =
    ReLU(U x_t + R h_{t-1} + P s_{t-1}[0]), where s[0] is the top of each stack. A softmax of A h_t weighs three new
    stacks: the old one with D h_t on top, without its top, or as it was. A place of a stack holds ``cells`` numbers.
    This is the network of the second paper's code, but for the places of a stack: 30 there, one for each token here.
    The first paper has sigmoids in place of ReLU and around D h_t, which learn parity in more steps.
    """

    def __init__(self, dims: Dims, /, stacks: PositiveInt = 1, cells: PositiveInt = 8):
        super().__init__()
        self.shape = stacks, cells
        self.inputs = Linear(dims.models, dims.width, dims.width)
        self.states = Linear(dims.models, dims.width + stacks * cells, dims.width)
        self.values = Linear(dims.models, dims.width, stacks * cells)
        self.actions = ensemble_parameter(dims.models, 1, stacks, 3, dims.width)

    def initialise(self, generators):
        init_normal(self.actions, self.actions.shape[-1] ** -0.5, generators)

    def prepare(self, h):
        return self.inputs(h)

    def start(self, h):
        stacks, cells = self.shape
        return torch.zeros_like(h[:, :, 0]), h.new_zeros(*h.shape[:2], stacks, h.shape[2], cells)

    def step(self, x, state):
        hidden, stack = state  # E B D, E B S places cells
        top = stack[..., 0, :].flatten(-2)
        hidden = (x + self.states(torch.cat((hidden, top), -1))).relu()
        value = self.values(hidden).unflatten(-1, self.shape).unsqueeze(-2)
        actions = (hidden[:, :, None, None] * self.actions).sum(-1).softmax(-1)
        push, pop, stay = actions[..., None, None].unbind(3)
        pushed = torch.cat((value, stack[..., :-1, :]), -2)
        popped = torch.cat((stack[..., 1:, :], torch.zeros_like(value)), -2)
        stack = push * pushed + pop * popped + stay * stack
        return hidden, (hidden, stack)
