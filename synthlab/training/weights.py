"""The weights of one model as a file of safetensors: by name, each with a leading dimension of size 1."""

from collections.abc import Callable, Collection, Sequence
from functools import partial

from torch import Tensor, nn

from synthlab.errors import InputError, format_error
from synthlab.runs.run import Run
from synthlab.training.loop import Observer

SHOWN = 40  # the most characters of a file's content that a message repeats, escaped: it may hold anything
# safetensors is imported where it is used: a run that saves no weights starts without it.


class Checkpoints:
    """The weights of an ensemble's models after each of ``steps``, collected during training."""

    def __init__(self, ensemble: nn.Module, configs: Sequence[Run], steps: Collection[int]):
        self.ensemble, self.configs, self.steps = ensemble, configs, frozenset(steps)
        self._files: list[dict[int, bytes]] = [{} for _ in configs]

    def observer(self, observe: Observer | None) -> Observer:
        """Return an observer of the training that collects weights, and then calls ``observe``."""

        def watch(step: int, losses: list[float]) -> None:
            # The last weights are collected at the end: a model may be changed after training.
            if step != self.configs[0].steps:
                self._take(step)
            if observe is not None:
                observe(step, losses)

        return watch

    def select_files(self, index: int) -> dict[int, Callable[[], bytes]]:
        """Return the weight files of one trained model, by step.

        Raises RuntimeError for a step at which training did not call the observer.
        """
        self._take(self.configs[0].steps)
        missed = self.steps - self._files[index].keys()
        if missed:  # in another package's family, or for steps that nobody checked
            raise RuntimeError(f"step={min(missed)}: no weights to keep: train_models does not call observe there")
        # A partial can be pickled, a lambda cannot.
        return {step: partial(bytes, file) for step, file in self._files[index].items()}

    def _take(self, step: int) -> None:
        if step in self.steps and step not in self._files[0]:
            for index, files in enumerate(self._files):
                files[step] = weights_file(self.ensemble, index, len(self.configs))


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

    try:
        tensors = load(data)
    except Exception as error:  # arbitrary bytes can cause any error
        raise InputError(f"{where}: cannot be read ({format_error(error)!r:.{2 * SHOWN}})") from None
    learned = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    whole = {name: values if name in learned else values[None] for name, values in module.state_dict().items()}
    expected, found = _layout(whole), _layout(tensors)
    wrong = sorted(expected.items() ^ found.items())
    if wrong:
        name = wrong[0][0]
        is_now, must_be = found.get(name, "missing"), expected.get(name, "left out")
        raise InputError(f"{where}: {name!r:.{SHOWN}} is {is_now:.{SHOWN}}; must be {must_be}")
    odd = [name for name, values in tensors.items() if not values.isfinite().all()]
    if odd:
        raise InputError(f"{where}: {odd[0]!r:.{SHOWN}} has numbers that are not finite")
    module.load_state_dict({name: values if name in learned else values[0] for name, values in tensors.items()})


def _layout(tensors: dict[str, Tensor]) -> dict[str, str]:
    """Return the shape and type of each tensor, as text."""
    return {name: f"{list(values.shape)} {values.dtype}" for name, values in tensors.items()}
