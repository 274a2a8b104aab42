"""4-bit NormalFloat, emulated: weights are rounded to values of a 4-bit base, but stored as ordinary floats."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

BLOCK = 64  # number of weights that share a scale (Dettmers et al., 2023, section 4)
OFFSET = 0.9677083  # the outermost probability, from the authors' code: the mean of 1 - 1/30 and 1 - 1/32


def normal_float_levels() -> Float[Tensor, "16"]:
    """Return the 16 values of NF4, ascending.

    They are quantiles of the normal distribution, divided by the largest, computed as in the authors' library
    bitsandbytes. Source: Dettmers et al., 2023, arXiv 2305.14314, section 3 and appendix E.

    Example:
        >>> from synthlab.finetuning.quantization import normal_float_levels
        >>> [round(value, 3) for value in normal_float_levels().tolist()][6:10]
        [-0.091, 0.0, 0.08, 0.161]
    """
    positive, negative = (
        torch.special.ndtri(torch.linspace(OFFSET, 0.5, count, dtype=torch.float64)[:-1]) for count in (9, 8)
    )
    values = torch.cat((positive, torch.zeros(1, dtype=torch.float64), -negative)).sort().values
    return (values / values.abs().max()).float()


def nearest_normal_float(weights: Float[Tensor, "E *N"]) -> Float[Tensor, "E *N"]:
    """Quantize the weights of each of E models to NF4 and back.

    Each weight becomes the nearest of 16 values times the largest absolute weight of its block of 64, row by row.
    Scales are 32-bit: there is no double quantization.

    Example:
        >>> import torch
        >>> from synthlab.finetuning.quantization import nearest_normal_float
        >>> [round(value, 4) for value in nearest_normal_float(torch.tensor([[2.0, 0.15, -0.9]]))[0].tolist()]
        [2.0, 0.1592, -0.7898]
    """
    rows = weights.flatten(1)
    blocks = F.pad(rows, (0, -rows.shape[1] % BLOCK)).unflatten(1, (-1, BLOCK))
    scale = blocks.abs().amax(-1, keepdim=True)
    values = normal_float_levels().to(weights)
    between = (values[1:] + values[:-1]) / 2
    found = values[torch.bucketize((blocks / scale.clamp(min=torch.finfo(scale.dtype).tiny)).contiguous(), between)]
    return (found * scale).flatten(1)[:, : rows.shape[1]].view(weights.shape)
