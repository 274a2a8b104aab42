"""From config to record: train, evaluate, keep; skip what is already recorded."""

import os
import platform
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from traceback import walk_tb
from typing import Any

import pandas as pd
import torch
from torch import nn

from synthlab.config import Config
from synthlab.errors import StoreError
from synthlab.leases import Held, Leases
from synthlab.memory import check_trainable
from synthlab.records import Failure, Record
from synthlab.stacks import exact_parts
from synthlab.store import Store
from synthlab.trackers import Followed, tracker_of
from synthlab.training import Observer, Training
from synthlab.workers import find_device, one_thread

UNTRACKED = tracker_of({"name": "none"})


def execute(config: Config, observe: Observer | None = None, device: str = "cpu") -> Record:
    """Train and evaluate one run alone."""
    return execute_stack([config], observe, device)[0]


def execute_stack(configs: Sequence[Config], observe: Observer | None = None, device: str = "cpu") -> list[Record]:
    """Train runs of one shape side by side, and evaluate each, on one thread. A run's numbers depend on nothing but its
    config and the machine; on the runs beside it neither, where ``stacks.is_exact``. On a GPU that is so up to
    rounding."""
    device = find_device(device)
    started, surroundings, maker = time.time(), environment(device), configs[0].maker
    with one_thread():
        stack, trainings = fit(configs, observe, device)
        trained = time.time()
        found = [
            maker.tested(stack, index, config)
            if training.diverged_at is None
            else (pd.DataFrame(columns=["length", *maker.METRICS]), None)
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
        for config, training, (metrics, outputs) in zip(configs, trainings, found, strict=True)
    ]


def train_and_keep(configs: Sequence[Config], store: Store, device: str = "cpu", tracker: Followed = UNTRACKED) -> None:
    """Train those runs of a stack that nobody else trains or has trained, and record them. A stack that raises an error
    is trained again run by run, so that only those that raise it alone are recorded as failed."""
    with store.writing(), Leases(store.files).held(config.id for config in configs) as held:
        leased = [config for config in configs if config.id in held.identities]
        mine = [config for config in leased if not store.holds(config) and not store.has_failed(config)]
        for part in exact_parts(mine, device):
            _train(part, store, device, tracker, held)


def _train(configs: list[Config], store: Store, device: str, tracker: Followed, held: Held) -> None:
    try:
        with tracker.following(configs) as tracks:

            def observe(step: int, losses: list[float]) -> None:
                held.share = step / configs[0].steps
                tracks.observe(step, losses)

            records = execute_stack(configs, observe, device)
            for record in records:
                store.write(record)
            tracks.end(records)
    except StoreError:
        raise
    except (Exception, SystemExit) as error:  # whatever a model, a map or a task of the user's own may raise
        if _is_schedulers(error):
            raise
        if len(configs) == 1:
            store.write_failure(Failure.of(configs[0], error, environment(device)))
        else:
            for config in configs:
                _train([config], store, device, tracker, held)


def _is_schedulers(error: BaseException) -> bool:
    """Whether submitit raised it, in the midst of whatever its job was doing: its time is up."""
    frames = walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__", "").startswith("submitit") for frame, _ in frames)


def fit(
    configs: Sequence[Config], observe: Observer | None = None, device: str = "cpu"
) -> tuple[nn.Module, list[Training]]:
    """The trained models of runs of one shape, as one stack, and how each one's training went."""
    if len({config.shape for config in configs}) != 1:
        raise ValueError(f"{len(configs)} runs differ in shape: cannot be trained in one stack")
    check_trainable(configs, device)
    maker = configs[0].maker
    stack = maker.build_models(configs).to(device)
    return stack, maker.train_stack(stack, configs, observe, device)


def _version() -> str:
    try:
        return version("synthlab")
    except PackageNotFoundError:
        return "a checkout, not installed"


def environment(device: str = "cpu") -> dict[str, Any]:
    """What a run was made with, and when."""
    return {
        "device": device if device == "cpu" else torch.cuda.get_device_name(device),
        "synthlab": _version(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        # Sums are rounded differently by vectors of other widths, so the same run differs from one to another.
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
