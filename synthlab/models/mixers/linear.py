"""Gated linear recurrences: states that decay by gates, which the tokens decide."""

import math

import torch
from pydantic import PositiveInt
from torch.nn import functional as F

from synthlab.models.encodings.base import Dims
from synthlab.models.layers import Linear, ensemble_parameter, init_uniform
from synthlab.models.mixers.base import LinearRecurrence


class MinGRU(LinearRecurrence):
    """A GRU whose gates see the token alone: s_t = (1 - z_t) s_{t-1} + z_t v_t.

    Source: Feng et al., 2024, arXiv 2410.01201, section 3.1.2. v is a linear function of the token, and z the sigmoid
    of another one.
    """

    def __init__(self, dims: Dims, /):
        super().__init__()
        self.inputs = Linear(dims.models, dims.width, 2 * dims.width)

    def prepare(self, h):
        z, v = self.inputs(h).chunk(2, -1)
        z = z.contiguous()
        return (-z).sigmoid(), z.sigmoid() * v

    def finish(self, states, others):
        return states


class RGLRU(LinearRecurrence):
    """The recurrent block of Griffin, without its convolution (De et al., 2024, arXiv 2402.19427, section 2.4).

    s_t = a_t s_{t-1} + sqrt(1 - a_t^2) i_t x_t, with a_t = sigmoid(L)^(8 r_t). x is a linear function of the token; r
    and i are sigmoids of linear functions of x. At first, sigmoid(L)^8 is uniform on (0.9, 0.999) over the width. The
    output is a linear function of s times GELU of another linear function of the token. The authors' gates are linear
    by blocks of the width.
    """

    def __init__(self, dims: Dims, /):
        super().__init__()
        self.inputs = Linear(dims.models, dims.width, 2 * dims.width)
        self.gates = Linear(dims.models, dims.width, 2 * dims.width)
        self.rates = ensemble_parameter(dims.models, 1, 1, dims.width)
        self.put_out = Linear(dims.models, dims.width, dims.width)

    def initialise(self, generators):
        init_uniform(self.rates, 0.9, 0.999, generators)
        self.rates.data.pow_(1 / 8).logit_()

    def prepare(self, h):
        x, passing = self.inputs(h).chunk(2, -1)
        r, i = self.gates(x).sigmoid().chunk(2, -1)
        log_a = 8 * r * F.logsigmoid(self.rates)
        return log_a.exp(), (-torch.expm1(2 * log_a)).sqrt() * i * x, F.gelu(passing.contiguous())

    def finish(self, states, others):
        return self.put_out(states * others[0])


class Mamba(LinearRecurrence):
    """A selective diagonal state-space model: Mamba, without its convolution (Gu and Dao, 2023, arXiv 2312.00752).

    For each of ``expand`` * D numbers x of a token there are N = ``states`` states, s_t = a_t s_{t-1} + d_t B_t x_t
    with a_t = exp(d_t A). The output y_t = C_t . s_t + G x_t is multiplied by SiLU of a linear function of the token,
    and goes through a linear layer. x is SiLU of a linear function of the token; d = softplus of one of rank D / 16
    (rounded up to a multiple of four) of x; B and C are linear in x; A < 0 and G are learned. At first A = -1..-N, G =
    1, and d lies around numbers between 0.001 and 0.1. The authors have N = 16 and ``expand`` = 2. With ``negative``,
    a_t = 2 exp(d_t A) - 1, in (-1, 1) (Grazzi et al., 2025, arXiv 2411.12537).
    """

    def __init__(self, dims: Dims, /, states: PositiveInt = 8, expand: PositiveInt = 1, negative: bool = False):
        super().__init__()
        models, inner, rank = dims.models, expand * dims.width, 4 * math.ceil(dims.width / 64)
        self.sizes, self.negative = (rank, states, states), negative
        self.inputs, self.put_out = Linear(models, dims.width, 2 * inner), Linear(models, inner, dims.width)
        self.selection, self.steps = Linear(models, inner, rank + 2 * states), Linear(models, rank, inner)
        self.log_decay = ensemble_parameter(models, 1, 1, inner, states)
        self.through = ensemble_parameter(models, 1, 1, inner)

    def initialise(self, generators):
        states = self.log_decay.shape[-1]
        self.log_decay.data.copy_(torch.arange(1.0, states + 1).log().expand(self.log_decay.shape))
        self.through.data.fill_(1.0)
        init_uniform(self.steps.bias, math.log(1e-3), math.log(1e-1), generators)
        self.steps.bias.data.exp_().expm1_().log_()  # the inverse of softplus

    def prepare(self, h):
        x, z = self.inputs(h).chunk(2, -1)
        x = F.silu(x.contiguous())
        low, enter, leave = self.selection(x).split(self.sizes, -1)
        d = F.softplus(self.steps(low))
        a = (d.unsqueeze(-1) * -self.log_decay.exp()).exp()  # E B T inner N
        return (2 * a - 1 if self.negative else a), (d * x).unsqueeze(-1) * enter.unsqueeze(-2), leave, x, z

    def finish(self, states, others):
        leave, x, z = others
        y = (states @ leave.unsqueeze(-1)).squeeze(-1) + self.through * x
        return self.put_out(y * F.silu(z.contiguous()))
