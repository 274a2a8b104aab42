"""Linear recurrences by the delta rule."""

import torch
from torch.nn import functional as F

from synthlab.models.encodings.base import Dims
from synthlab.models.layers import Linear
from synthlab.models.mixers.base import Recurrence


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
