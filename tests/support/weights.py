"""Files of weights made up for tests."""

import torch
from safetensors.torch import save


def file(number: float) -> bytes:
    """The file of a model that has two parameters and a buffer."""
    values = number + torch.arange(6) / 3
    table = torch.tensor([[5, 1]])
    return save({"head.weight": values.view(1, 2, 3), "head.bias": values[None, :3].clone(), "table": table})
