"""Attention weights that break a stick."""

import math

import torch
from torch.nn.functional import logsigmoid

from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.layers import sum_from
from synthlab.styles import PINE, Style


class StickBreaking(Encoding):
    """Each key, from the nearest on, takes a share sigmoid(z) of what is left (Tan et al., 2025, arXiv 2410.17980).

    The weight of query i and key j < i is sigmoid(z_ij) times the product of 1 - sigmoid(z_ik) over j < k < i. A token
    does not see itself, and weights sum to at most 1. Nothing else tells the model the order of tokens.
    """

    style = Style("stick-breaking", PINE, "-", "$B$")

    def __init__(self, dims: Dims, /):
        super().__init__()

    def weigh(self, logits):
        seen = logits > -math.inf
        is_own = seen & (sum_from(seen) == 1)  # the last key of each query
        logits = logits.masked_fill(is_own, -math.inf)
        left = logsigmoid(-logits)
        after = torch.cat((left[..., 1:], torch.zeros_like(left[..., :1])), -1)
        return (logsigmoid(logits) + sum_from(after)).exp()
