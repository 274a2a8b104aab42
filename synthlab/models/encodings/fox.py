"""Forget gates."""

from torch.nn.functional import logsigmoid

from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.layers import Linear
from synthlab.styles import JADE, Style


class Gated(Encoding):
    """Encodings with a gate log sigmoid(w . x + b) for each token and head; w and b are those of a layer, b first 0."""

    for_each_layer = True

    def __init__(self, dims: Dims, /):
        super().__init__()
        self.gates = Linear(dims.models, dims.width, dims.heads)

    def initialise(self, generators):
        self.gates.initialise(1.0, generators)

    def locate(self, h, positions, add_up):
        return logsigmoid(self.gates(h))


class FoX(Gated):
    """Forget gates: logits lowered by how much each head has forgotten since the key.

    Source: Lin et al., 2025, arXiv 2503.02130. The bias of query i and key j is the sum over t = j + 1..i of log
    sigmoid(w . x_t + b), where x_t is what attention of the layer reads. The gates of each layer start with b = 0 as in
    the authors' code. CABLE (2503.08067) has this bias up to the sign of w and b, and divides q . k by sqrt(D) in its
    authors' code; data-dependent ALiBi is another name.
    """

    style = Style("FoX", JADE, "-", "+")

    def locate(self, h, positions, add_up):
        return add_up(super().locate(h, positions, add_up))

    def bias(self, query, key):
        return (query - key).movedim(-1, -3)
