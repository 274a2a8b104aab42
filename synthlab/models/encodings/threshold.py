"""Attention to keys above a threshold, and the distance among these."""

import math

import torch
from torch.nn import functional as F

from synthlab.models.encodings.fox import Gated
from synthlab.models.layers import sum_from
from synthlab.styles import LONG, SEA, Style


class Threshold(Gated):
    """Threshold relative attention: a query sees the keys with a positive logit alone, and counts these alone.

    Source: Opper et al., 2025, arXiv 2503.23174 (TRA). Queries and keys are divided by their root mean square. A
    positive logit of query i and key j is increased by log sigmoid(w . x_i + b) times the number of keys from j to i
    with a positive logit; x_i is what attention of the layer reads. A query without any has weights 0. Each head of
    each layer learns its w and b; b is 0 at first.
    """

    style = Style("TRA", SEA, LONG, "$T$")

    def rotate(self, v, positions):  # the gate of a query is appended to it, for ``adjust``
        return torch.cat((F.rms_norm(v, v.shape[-1:]), positions.unsqueeze(-1)), -1)

    def rotate_keys(self, k, positions):
        return F.pad(F.rms_norm(k, k.shape[-1:]), (0, 1))

    def adjust(self, logits, q, mask, bias):
        seen = (logits > 0) & mask
        return torch.where(seen, logits + q[..., -1:] * sum_from(seen), -math.inf)

    def weigh(self, logits):
        sees_none = (logits == -math.inf).all(-1, keepdim=True)
        return logits.masked_fill(sees_none, 0).softmax(-1).masked_fill(sees_none, 0)
