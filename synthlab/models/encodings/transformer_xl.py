"""The relative positions of Transformer-XL."""

import torch
from jaxtyping import Float
from pydantic import PositiveFloat
from torch import Tensor

from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.encodings.rope import angles, geometric
from synthlab.models.layers import ensemble_parameter, init_normal
from synthlab.styles import LONG, PEACH, Style

STD = 0.02  # of the initial u and v, as in the authors' code


class TransformerXL(Encoding):
    """Logits (q_i + u) . k_j + (q_i + v) . W R(i - j), divided by sqrt(d).

    Source: Dai et al., 2019, arXiv 1901.02860, section 3.3. R(r) has the sines and the cosines of r times D / 2
    geometric frequencies. Each head learns its W, u and v. Each layer has its own; in the paper, layers share u and v,
    and the authors' code has both.

    Since sines and cosines of i - j follow from those of i and of j, the second term is a product of two vectors of
    width D, one for each token. They are appended to queries and keys.
    """

    style = Style("Transformer-XL", PEACH, LONG, "$L$")

    for_each_layer = True

    def __init__(self, dims: Dims, /, base: PositiveFloat):
        super().__init__()
        if dims.width % 2:
            raise InputError(f"model.width={dims.width}: must be even for encoding transformer_xl")
        self.base, head_width = base, dims.width // dims.heads
        self.u, self.v = (ensemble_parameter(dims.models, 1, 1, dims.heads, head_width) for _ in range(2))
        self.weight = ensemble_parameter(dims.models, dims.heads, head_width, dims.width)

    def initialise(self, generators):
        for parameter, std in ((self.u, STD), (self.v, STD), (self.weight, self.weight.shape[-1] ** -0.5)):
            init_normal(parameter, std, generators)

    def rotate(self, v, positions):
        q, (sine, cosine) = v, self._waves(v, positions)
        read = ((q + self.v).unsqueeze(-2) @ self.weight[:, None, None]).squeeze(-2)  # W' (q + v): E B T H D
        of_sine, of_cosine = read.chunk(2, -1)
        far = (of_sine * sine + of_cosine * cosine, of_cosine * sine - of_sine * cosine)
        return torch.cat((q + self.u, *far), -1)

    def rotate_keys(self, k, positions):
        sine, cosine = self._waves(k, positions)
        return torch.cat((k, *(each.expand(*k.shape[:-1], -1) for each in (cosine, sine))), -1)

    def _waves(self, v: Tensor, positions: Tensor) -> tuple[Float[Tensor, "#E #B T 1 n"], Float[Tensor, "#E #B T 1 n"]]:
        """Return the sines and the cosines of each position times n = D / 2 frequencies."""
        angle = angles(positions, geometric(self.weight.shape[-1], self.base, v.device)).unsqueeze(-2)
        return angle.sin().to(v.dtype), angle.cos().to(v.dtype)
