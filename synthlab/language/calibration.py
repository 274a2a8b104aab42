"""One temperature for a model's answers: what tells over-confidence from ignorance."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

COLDEST, HOTTEST = 0.05, 20.0  # temperatures tried; a model's own answers are those at 1
HALVINGS = 24  # of the interval, in the logarithm: to a millionth


def best_temperature(logits: Float[Tensor, "*N V"], tokens: Int[Tensor, "*N"]) -> float:
    """The temperature T at which softmax(logits / T) has the least cross-entropy on ``tokens`` (Guo et al., 2017,
    section 4.2).

    The cross-entropy is convex in 1 / T. Its derivative there is what the distribution expects of the logits, less the
    logit of the token that came: the sign says on which side of the optimum T is.
    """
    logits = logits.flatten(0, -2).float()
    came = logits.gather(-1, tokens.flatten().unsqueeze(-1)).double().mean()
    low, high = torch.tensor([COLDEST, HOTTEST], dtype=torch.float64).log()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        expected = ((logits / middle.exp()).softmax(-1) * logits).sum(-1).double().mean()
        low, high = (low, middle) if expected < came else (middle, high)
    return ((low + high) / 2).exp().item()
