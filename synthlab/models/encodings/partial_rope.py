"""RoPE on a part of each head's dimensions."""

from typing import Annotated

import torch
from pydantic import Field, PositiveFloat

from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.encodings.rope import RoPE
from synthlab.styles import DOTS, STEEL, Style


class PartialRoPE(Encoding):
    """RoPE on the first ``share`` of each head's dimensions, rounded down to pairs; the others carry no position.

    Sources: Wang and Komatsuzaki, 2021, GPT-J; Kazemnejad et al., 2023, arXiv 2305.19466, whose RoPE has a share of
    1/4.
    """

    style = Style("partial RoPE", STEEL, DOTS, "4")

    def __init__(self, dims: Dims, /, base: PositiveFloat, share: Annotated[float, Field(gt=0, le=1)]):
        super().__init__()
        head_width = dims.width // dims.heads
        self.rotated = int(share * head_width) // 2 * 2
        if not self.rotated:
            raise InputError(f"encoding.share={share:g}: leaves no pair of a head's {head_width} dimensions to rotate")
        self.rope = RoPE(Dims(self.rotated, 1), base)

    def rotate(self, v, positions):
        return torch.cat((self.rope.rotate(v[..., : self.rotated], positions), v[..., self.rotated :]), -1)
