"""Train and test runs: from configs to records in memory."""

import os
import platform
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pandas as pd
import torch
from torch import nn

from synthlab.config.base import Config
from synthlab.storage.records import Record
from synthlab.training.devices import find_device, one_thread
from synthlab.training.loop import Observer, Training
from synthlab.training.memory import check_trainable
from synthlab.training.weights import weights_file


def execute(config: Config, observe: Observer | None = None, device: str = "cpu") -> Record:
    """Train and evaluate one run alone."""
    return execute_together([config], observe, device)[0]


def execute_together(
    configs: Sequence[Config], observe: Observer | None = None, device: str = "cpu", with_weights: bool = False
) -> list[Record]:
    """Train runs of one shape as an ensemble, and evaluate each, on one thread. The records have the weights only if
    they are to be kept.

    A run's numbers depend on its config and the machine alone, not on the other members of its ensemble: on a CPU to
    the last bit where ``training.exactness`` finds it so, on a GPU up to rounding."""
    device = find_device(device)
    started, surroundings, family = time.time(), environment(device), configs[0].family
    with one_thread():
        ensemble, trainings = fit(configs, observe, device)
        trained = time.time()
        results = [
            family.evaluate_model(ensemble, index, config)
            if training.diverged_at is None
            else (pd.DataFrame(columns=["length", *family.METRICS]), None)
            for index, (config, training) in enumerate(zip(configs, trainings, strict=True))
        ]
    weights = [
        weights_file(ensemble, index, configs) if with_weights and training.diverged_at is None else None
        for index, training in enumerate(trainings)
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
            weights=kept,
            diverged_at=training.diverged_at,
            environment=surroundings,
        )
        for config, training, (metrics, outputs), kept in zip(configs, trainings, results, weights, strict=True)
    ]


def fit(
    configs: Sequence[Config], observe: Observer | None = None, device: str = "cpu"
) -> tuple[nn.Module, list[Training]]:
    """The trained models of runs of one shape, as one ensemble, and the training curve of each."""
    if len({config.shape for config in configs}) != 1:
        raise ValueError(f"{len(configs)} runs differ in shape: cannot be trained in one ensemble")
    check_trainable(configs, device)
    family = configs[0].family
    ensemble = family.build_models(configs).to(device)
    return ensemble, family.train_models(ensemble, configs, observe, device)


def curve(training: Training) -> pd.DataFrame:
    """A training curve as a record has it."""
    return pd.DataFrame({"step": training.steps, "loss": training.losses})


def _version() -> str:
    try:
        return version("synthlab")
    except PackageNotFoundError:
        return "a checkout, not installed"


def environment(device: str = "cpu") -> dict[str, Any]:
    """The versions, device and machine of a run, and its start time."""
    return {
        "device": device if device == "cpu" else torch.cuda.get_device_name(device),
        "synthlab": _version(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        # The width of vector instructions changes how sums are rounded, and so the numbers of a run.
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
