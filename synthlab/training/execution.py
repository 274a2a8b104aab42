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


def execute(config: Config, observe: Observer | None = None, device: str = "cpu") -> Record:
    """Train and evaluate one run alone."""
    return execute_together([config], observe, device)[0]


def execute_together(configs: Sequence[Config], observe: Observer | None = None, device: str = "cpu") -> list[Record]:
    """Train runs of one shape as an ensemble, and evaluate each, on one thread.

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
    surroundings |= {
        "stacked": len(configs),
        "train_seconds": (trained - started) / len(configs),
        "test_seconds": (time.time() - trained) / len(configs),
    }
    return [
        Record(
            config=config,
            metrics=metrics,
            training=pd.DataFrame({"step": training.steps, "loss": training.losses}),
            outputs=outputs,
            diverged_at=training.diverged_at,
            environment=surroundings,
        )
        for config, training, (metrics, outputs) in zip(configs, trainings, results, strict=True)
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
