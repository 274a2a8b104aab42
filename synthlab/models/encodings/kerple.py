"""Kernels of the distance."""

from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.layers import ensemble_parameter, init_uniform
from synthlab.styles import BRICK, DASHDOT, Style

LEAST = 0.01  # of the parameters, as in the authors' code


class KERPLE(Encoding):
    """Logits lowered by p log(1 + a (i - j)), with p and a learned for each head (Chi et al., 2022, arXiv 2205.09921).

    This is the logarithmic variant. p and a are at least 0.01, and start uniform on (0, 2) and (0, 1). As in the
    authors' code, all layers share them.
    """

    style = Style("KERPLE", BRICK, DASHDOT, ".")

    def __init__(self, dims: Dims, /):
        super().__init__()
        self.p, self.a = (ensemble_parameter(dims.models, 1, dims.heads, 1, 1) for _ in range(2))

    def initialise(self, generators):
        init_uniform(self.p, LEAST, 2.0, generators)
        init_uniform(self.a, LEAST, 1.0, generators)

    def bias(self, query, key):
        # Below the least value, a parameter still has its gradient.
        p, a = (each + (each.clamp(min=LEAST) - each).detach() for each in (self.p, self.a))
        return -p * (a * (query - key).clamp(min=0).unsqueeze(-3)).log1p()
