"""The weights of one model as a file of safetensors: by name, each with a leading dimension of size 1."""

from torch import nn

from synthlab.errors import InputError, format_error

# safetensors is imported where it is used: a run that saves no weights starts without it.


def weights_file(ensemble: nn.Module, index: int, models: int) -> bytes:
    """Return the weight file of the model ``index`` of an ensemble of so many ``models``."""
    from safetensors.torch import save

    learned = {name for name, _ in ensemble.named_parameters(remove_duplicate=False)}
    tensors = {
        # Parameters have a leading dimension of models, buffers get one. Copies, since parameters of a trained ensemble
        # are views of one matrix.
        name: (values.unflatten(0, (models, -1))[index] if name in learned else values[None])
        .detach()
        .cpu()
        .clone()
        .contiguous()
        for name, values in ensemble.state_dict().items()
    }
    return save(tensors)


def load_weights(module: nn.Module, data: bytes, where: str) -> None:
    """Load the weights in a file of ``weights_file`` into ``module``, the model of the same run.

    Raises InputError, which names ``where`` they are, for a file that cannot be read or does not fit.
    """
    from safetensors.torch import load

    learned = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    try:
        tensors = load(data)
        module.load_state_dict({name: values if name in learned else values[0] for name, values in tensors.items()})
    except Exception as error:  # arbitrary bytes can cause any error
        raise InputError(f"{where}: cannot be loaded ({format_error(error):.200})") from None
