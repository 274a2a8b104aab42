"""The weights of one model as a file, in the format of safetensors: numbers and text, never code.

The file holds the parameters of an ensemble of one by name. Its metadata ``run`` is JSON: the ``config``, its
``results_version``, and, for weights after another step than the last, the ``step``.
"""

import json
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn

from synthlab.config.base import Config, identity_of
from synthlab.errors import InputError, format_error
from synthlab.storage.checkpoints import weights_name
from synthlab.training.loop import Observer

SHOWN = 40  # the most characters of a file's content that a message repeats, escaped: it may hold anything
# safetensors is imported where it is used: a run that saves no weights starts without it.


class Checkpoints:
    """The weights of an ensemble's models after each of ``steps``, collected during training."""

    def __init__(self, ensemble: nn.Module, configs: Sequence[Config], steps: Collection[int]):
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
        for index, files in enumerate(self._files):
            if step in self.steps and step not in files:
                files[step] = weights_file(self.ensemble, index, self.configs, step)


def weights_file(ensemble: nn.Module, index: int, configs: Sequence[Config], step: int | None = None) -> bytes:
    """Return the weight file of the model ``index`` of an ensemble after ``step``, by default the last.

    ``configs[index]`` is the model's config.
    """
    from safetensors.torch import save

    config, learned = configs[index], {name for name, _ in ensemble.named_parameters(remove_duplicate=False)}
    tensors = {
        # Parameters have a leading dimension of models, buffers are shared. Copies, since parameters of a trained
        # ensemble are views of one matrix.
        name: (values.chunk(len(configs))[index] if name in learned else values).detach().cpu().clone().contiguous()
        for name, values in ensemble.state_dict().items()
    }
    run: dict[str, Any] = {"results_version": config.results_version, "config": config.identifying}
    if step not in (None, config.steps):
        run["step"] = step
    return save(tensors, {"run": json.dumps(run)})


def load_weights(module: nn.Module, data: bytes, config: Config, step: int) -> None:
    """Load the weights after ``step`` from a file of ``weights_file`` into ``module``, the model of ``config``.

    Raises InputError for a file that cannot be read, belongs to another run, step or results version, or does not fit.
    """
    where = f"{weights_name(step, config)} of record {config.id}"
    tensors, run = _read(data, where)
    try:
        version, identity = run["results_version"], identity_of(run["config"], run["results_version"])
        found_step = run.get("step", config.steps)
    except (TypeError, KeyError, RecursionError):
        raise InputError(f"{where}: does not name its run; synthlab did not write it") from None
    if version != config.results_version:
        told = f"{version!r:.{SHOWN}}"
        raise InputError(f"{where}: is of results version {told}; the present one is {config.results_version}")
    if identity != config.id:
        raise InputError(f"{where}: has the weights of another run, {identity}")
    if found_step != step:
        raise InputError(f"{where}: has the weights of another step, {found_step!r:.{SHOWN}}")
    expected, found = _layout(module.state_dict()), _layout(tensors)
    wrong = sorted(expected.items() ^ found.items())
    if wrong:
        name = wrong[0][0]
        is_now, must_be = found.get(name, "missing"), expected.get(name, "left out")
        raise InputError(f"{where}: {name!r:.{SHOWN}} is {is_now:.{SHOWN}}; must be {must_be}")
    odd = [name for name, values in tensors.items() if not values.isfinite().all()]
    if odd:
        raise InputError(f"{where}: {odd[0]!r:.{SHOWN}} has numbers that are not finite")
    module.load_state_dict(tensors)


def _read(data: bytes, where: str) -> tuple[dict[str, Tensor], Any]:
    """Return the tensors of a file, and its description of the run."""
    from safetensors.torch import load

    try:
        tensors = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])  # the format: its length, then JSON
        return tensors, json.loads(header.get("__metadata__", {}).get("run", "null"))
    except Exception as error:  # arbitrary bytes can cause any error
        raise InputError(f"{where}: cannot be read ({format_error(error)!r:.{2 * SHOWN}})") from None


def _layout(tensors: dict[str, Tensor]) -> dict[str, str]:
    """Return the shape and type of each tensor, as text."""
    return {name: f"{list(values.shape)} {values.dtype}" for name, values in tensors.items()}
