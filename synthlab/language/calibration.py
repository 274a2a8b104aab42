"""Temperature scaling, which separates over-confidence from lack of knowledge."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

COLDEST, HOTTEST = 0.05, 20.0  # the range of temperatures; 1 leaves the model unchanged
HALVINGS = 24  # bisection steps in log T: to a relative precision of a millionth


def best_temperature(logits: Float[Tensor, "*N V"], tokens: Int[Tensor, "*N"]) -> float:
    """Return the temperature T that minimizes the cross-entropy of softmax(logits / T) on ``tokens``.

    Source: Guo et al., 2017, section 4.2. It is found by bisection: the derivative with respect to 1 / T is the
    expected logit minus the target's.
    """
    logits = logits.flatten(0, -2).float()
    target = logits.gather(-1, tokens.flatten().unsqueeze(-1)).double().mean()
    low, high = torch.tensor([COLDEST, HOTTEST], dtype=torch.float64).log()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        expected = ((logits / middle.exp()).softmax(-1) * logits).sum(-1).double().mean()
        low, high = (low, middle) if expected < target else (middle, high)
    return ((low + high) / 2).exp().item()
