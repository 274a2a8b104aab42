"""Training and testing of runs: from configs to records in memory."""

import platform
import time
from collections.abc import Collection, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pandas as pd
import torch
from torch import nn

from synthlab.config.base import Config
from synthlab.config.sources import name_own_classes
from synthlab.storage.records import Record
from synthlab.training.devices import count_cores, find_device, use_one_thread
from synthlab.training.loop import Observer, Training
from synthlab.training.weights import Checkpoints


def execute(config: Config, observe: Observer | None = None, device: str = "cpu") -> Record:
    """Train and evaluate one run alone."""
    return execute_together([config], observe, device)[0]


def execute_together(
    configs: Sequence[Config], observe: Observer | None = None, device: str = "cpu", keep: Collection[int] = ()
) -> list[Record]:
    """Train runs of one shape as an ensemble, and evaluate each, on one thread.

    Each run's numbers are those that it has alone: on a CPU to the last bit where ``training.exactness`` finds it so,
    on a GPU up to rounding. The records have the weights after the steps ``keep``, except those of runs that diverged.
    """
    device = find_device(device)
    started, surroundings, family = time.time(), environment(device), configs[0].family
    with use_one_thread(), name_own_classes(configs[0].model_dump()):
        ensemble = initialize(configs, device)
        checkpoints = Checkpoints(ensemble, configs, keep)
        trainings = family.train_models(ensemble, configs, checkpoints.observer(observe), device)
        trained = time.time()
        nothing = pd.DataFrame(columns=["length", *configs[0].measures().metrics]), None, {}
        results = [
            nothing
            if each.diverged_at
            else (*family.evaluate_model(ensemble, i, configs[i]), checkpoints.select_files(i))
            for i, each in enumerate(trainings)
        ]
    surroundings |= {
        "stacked": len(configs),
        "train_seconds": (trained - started) / len(configs),
        "test_seconds": (time.time() - trained) / len(configs),
    }
    return [
        Record(
            config=config,
            metrics=metrics,
            training=curve(training),
            outputs=outputs,
            weights=weights,
            diverged_at=training.diverged_at,
            environment=surroundings,
        )
        for config, training, (metrics, outputs, weights) in zip(configs, trainings, results, strict=True)
    ]


def fit(
    configs: Sequence[Config], observe: Observer | None = None, device: str = "cpu"
) -> tuple[nn.Module, list[Training]]:
    """Return the trained models of runs of one shape, as one ensemble, and the training curve of each."""
    ensemble = initialize(configs, device)
    return ensemble, configs[0].family.train_models(ensemble, configs, observe, device)


def initialize(configs: Sequence[Config], device: str = "cpu") -> nn.Module:
    """Return the models of runs of one shape before training, as one ensemble."""
    if len({config.shape for config in configs}) != 1:
        raise ValueError(f"{len(configs)} runs differ in shape: cannot be trained in one ensemble")
    return configs[0].family.build_models(configs).to(device)


def curve(training: Training) -> pd.DataFrame:
    """Return a training curve as the table of a record."""
    return pd.DataFrame({"step": training.steps, "loss": training.losses, **training.learned})


def _version() -> str:
    try:
        return version("synthlab")
    except PackageNotFoundError:
        return "a checkout, not installed"


def environment(device: str = "cpu") -> dict[str, Any]:
    """Return the versions, device and machine of a run, and its start time."""
    return {
        "device": device if device == "cpu" else torch.cuda.get_device_name(device),
        "synthlab": _version(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        # The width of vector instructions changes how sums are rounded, and so the numbers of a run.
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "system": platform.system(),
        "cores": count_cores(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
