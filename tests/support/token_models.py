"""Models of tokens whose misalignment is known."""

import torch
from torch.nn import functional as F


class Suffixes(torch.nn.Module):
    """A causal model of a vocabulary of 3 whose answer depends on the last ``seen`` tokens alone, by their sum."""

    def __init__(self, seen: int):
        super().__init__()
        self.seen = seen
        self.table = torch.nn.Parameter(torch.randn(2 * seen + 1, 3, dtype=torch.float64))

    def forward(self, tokens):
        padded = F.pad(tokens, (self.seen - 1, 0))
        return self.table[padded.unfold(-1, self.seen, 1).sum(-1)]


class Everything(torch.nn.Module):
    """One whose answer depends on the mean of all tokens seen."""

    def __init__(self):
        super().__init__()
        self.direction = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64))

    def forward(self, tokens):
        means = tokens.double().cumsum(-1) / torch.arange(1, tokens.shape[-1] + 1)
        return means[..., None] * self.direction


def texts(rows: int, length: int) -> torch.Tensor:
    return torch.randint(0, 3, (rows, length), generator=torch.Generator().manual_seed(7))
