"""The weights of one model: by name, each with a leading dimension of size 1."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from synthlab.errors import InputError, format_error


def copy_weights(ensemble: nn.Module, index: int, models: int) -> dict[str, Tensor]:
    """Return a copy, on the CPU, of the weights of the model ``index`` of an ensemble of so many ``models``."""
    learned = {name for name, _ in ensemble.named_parameters(remove_duplicate=False)}
    # Parameters have a leading dimension of models, of which several parameters may be views; buffers get one.
    return {
        name: (values.unflatten(0, (models, -1))[index] if name in learned else values[None])
        .detach()
        .cpu()
        .clone(memory_format=torch.contiguous_format)
        for name, values in ensemble.state_dict().items()
    }


def load_weights(module: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Load the weights of ``copy_weights`` into ``module``, the model of the same run.

    Raises InputError, which names ``where`` they are, if they do not fit.
    """
    learned = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    try:
        module.load_state_dict({name: values if name in learned else values[0] for name, values in weights.items()})
    except RuntimeError as error:
        raise InputError(f"{where}: cannot be loaded ({format_error(error):.200})") from None
