"""Training and testing of runs: from configs to records in memory.

Whether runs compute in an ensemble, to the last bit, what each computes alone, is found by trial. Matrix products are
rounded alike at every place in memory if each model's numbers fill vectors of four, but not in every shape: a single
row in a batch, for one, is rounded differently. So each shape that fills vectors is tested once in a process, by a few
training steps; runs of other shapes train alone. Evaluation takes one model at a time. See ``optimizers.ALIGNMENT``.
"""

import json
import platform
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pandas as pd
import torch
from torch import nn

from synthlab.runs.run import Run
from synthlab.runs.sources import note_user_classes
from synthlab.storage.records import ReadWeights, Record
from synthlab.training.devices import count_cores, find_device, use_one_thread
from synthlab.training.loop import Observer, Training, train_ensemble
from synthlab.training.weights import copy_weights

# Number of models in a trial: alignments in memory repeat after four models, 16 bytes apart. Number of training steps:
# a difference in the gradient shows in the parameters after one step, and in the loss of the next.
TRIAL_MODELS, TRIAL_STEPS = 5, 3
# A GPU tests at most TEST_MODELS models at once, fewer where a text of each has more than TEST_LOGITS attention logits.
TEST_MODELS, TEST_LOGITS = 256, 2**21
_exact: dict[tuple[str, int], bool] = {}  # the results of this process's trials, by shape and number of models


def execute(config: Run, observe: Observer | None = None, device: str = "cpu") -> Record:
    """Train and evaluate one run alone."""
    return execute_together([config], observe, device)[0]


def execute_together(
    configs: Sequence[Run], observe: Observer | None = None, device: str = "cpu", keep: Collection[int] = ()
) -> list[Record]:
    """Train runs of one shape as an ensemble, and evaluate each, on one thread.

    Each run has the numbers that it has alone: on a CPU to the last bit if ``is_exact``, on a GPU up to rounding.
    The records have the weights after the steps ``keep``, except those of runs that diverged.
    """
    device = find_device(device)
    started, environment, family = time.time(), describe_environment(device), configs[0].load_family()
    with use_one_thread(), note_user_classes(configs[0].model_dump()):
        ensemble, trainings, weights = train_together(configs, observe, device, keep)
        trained = time.time()
        empty: pd.DataFrame = pd.DataFrame(columns=["length", *configs[0].measures().metrics])
        tables: list[tuple[pd.DataFrame, pd.DataFrame | None]] = [(empty, None) for _ in configs]
        finite = [index for index, each in enumerate(trainings) if not each.diverged_at]
        for part in _plan_tests(configs, finite, device):
            tested = family.evaluate_models(ensemble, part, [configs[index] for index in part])
            for index, of_model in zip(part, tested, strict=True):
                tables[index] = of_model
    environment |= {
        "stacked": len(configs),
        "train_seconds": (trained - started) / len(configs),
        "test_seconds": (time.time() - trained) / len(configs),
    }
    return [
        Record(
            config=config,
            metrics=tables[index][0],
            training=tabulate_curve(training),
            outputs=tables[index][1],
            weights=weights[index] if index in finite else {},
            diverged_at=training.diverged_at,
            environment=environment,
        )
        for index, (config, training) in enumerate(zip(configs, trainings, strict=True))
    ]


def train_together(
    configs: Sequence[Run], observe: Observer | None = None, device: str = "cpu", keep: Collection[int] = ()
) -> tuple[nn.Module, list[Training], list[dict[int, ReadWeights]]]:
    """Return the trained models of runs of one shape, as one ensemble, and of each its curve and its weights.

    There are weights after each of the steps ``keep``.
    """
    ensemble, last = initialize(configs, device), configs[0].steps
    weights: list[dict[int, ReadWeights]] = [{} for _ in configs]

    def collect_weights(step: int) -> None:
        if step in keep:
            for index, steps in enumerate(weights):
                # A partial can be pickled, a lambda cannot.
                steps[step] = partial(dict, copy_weights(ensemble, index, len(configs)))

    def watch(step: int, losses: list[float]) -> None:
        if step != last:  # the last weights are collected at the end: a model may be changed after training
            collect_weights(step)
        if observe is not None:
            observe(step, losses)

    trainings = configs[0].load_family().train_models(ensemble, configs, watch, device)
    collect_weights(last)
    return ensemble, trainings, weights


def _plan_tests(configs: Sequence[Run], indices: Sequence[int], device: str) -> list[list[int]]:
    """Return the models of an ensemble that are tested at once: on a GPU those that differ in seeds only.

    On a CPU each model is tested alone, so that its numbers are those of a run alone.
    """
    if device == "cpu":
        return [[index] for index in indices]
    same: dict[str, list[int]] = defaultdict(list)
    for index in indices:
        same[json.dumps(configs[index].model_dump(exclude={*configs[index].SEEDS, "protocol"}))].append(index)
    size = max(1, min(TEST_MODELS, TEST_LOGITS // configs[0].test_length ** 2))
    return [part[first : first + size] for part in same.values() for first in range(0, len(part), size)]


def fit(
    configs: Sequence[Run], observe: Observer | None = None, device: str = "cpu"
) -> tuple[nn.Module, list[Training]]:
    """Return the trained models of runs of one shape, as one ensemble, and the training curve of each."""
    return train_together(configs, observe, device)[:2]


def initialize(configs: Sequence[Run], device: str = "cpu") -> nn.Module:
    """Return the models of runs of one shape before training, as one ensemble."""
    if len({config.shape for config in configs}) != 1:
        raise ValueError(f"{len(configs)} runs differ in shape: cannot be trained in one ensemble")
    return configs[0].load_family().build_models(configs).to(device)


def tabulate_curve(training: Training) -> pd.DataFrame:
    """Return a training curve as the table of a record."""
    return pd.DataFrame({"step": training.steps, "loss": training.losses, **training.learned})


def describe_environment(device: str = "cpu") -> dict[str, Any]:
    """Return the versions, device and machine of a run, and its start time."""
    try:
        lab = version("synthlab-lengths")
    except PackageNotFoundError:
        lab = "a checkout, not installed"
    return {
        "device": device if device == "cpu" else torch.cuda.get_device_name(device),
        "synthlab": lab,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        # The width of vector instructions changes how sums are rounded, and so the numbers of a run.
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "system": platform.system(),
        "cores": count_cores(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def split_inexact(configs: Sequence[Run], device: str = "cpu") -> list[list[Run]]:
    """Return the runs of an ensemble as ensembles to train: the whole if it is exact, else each run alone.

    On a GPU an ensemble is never split.
    """
    if len(configs) < 2 or (device == "cpu" and not is_exact(configs)):
        return [[config] for config in configs]
    return [list(configs)]


def is_exact(configs: Sequence[Run]) -> bool:
    """Return True if runs of one shape compute in an ensemble what each computes alone; False if the trial fails."""
    if not _fills_vectors(configs[0]):
        return False
    shape, tried = configs[0].shape, configs[:TRIAL_MODELS]
    if (shape, len(tried)) not in _exact:
        with use_one_thread():
            try:
                alone = [values for config in tried for values in _trial([config])]
                _exact[shape, len(tried)] = all(map(torch.equal, _trial(tried), alone))
            except Exception:  # training reports it
                return False
    return _exact[shape, len(tried)]


def _fills_vectors(config: Run) -> bool:
    """Return True if each layer's numbers, model after model, begin at multiples of four."""
    model = config.model
    if model["name"] == "linear":
        return config.protocol.batch * config.train_length % 4 == 0
    width = model.get("width", 4)
    return width % 4 == round(model.get("mlp_ratio", 1) * width) % 4 == 0


def _trial(configs: Sequence[Run]) -> list[torch.Tensor]:
    """Return, for each model, its losses in the first steps and the resulting parameters, in one row."""
    family = configs[0].load_family()
    ensemble = family.build_models(configs)
    protocols = [config.protocol.model_copy(update={"steps": TRIAL_STEPS, "record_every": 1}) for config in configs]
    trainings = train_ensemble(ensemble.parameters(), family.make_objective(ensemble, configs), protocols)
    return [
        torch.cat([torch.tensor(training.losses), *(each[i].flatten() for each in ensemble.parameters())])
        for i, training in enumerate(trainings)
    ]
