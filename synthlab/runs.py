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

from synthlab.assembly import build_models, data
from synthlab.config import RunConfig
from synthlab.errors import StoreError
from synthlab.evaluation import evaluate
from synthlab.layers import Member
from synthlab.leases import Held, Leases
from synthlab.linear_attention import LinearAttention
from synthlab.metrics import METRICS
from synthlab.records import Failure, Record
from synthlab.stacks import exact_parts, objective_of
from synthlab.store import Store
from synthlab.trackers import Followed, tracker_of
from synthlab.training import Observer, Training, train
from synthlab.workers import find_device, one_thread

UNTRACKED = tracker_of({"name": "none"})


def execute(config: RunConfig, observe: Observer | None = None, device: str = "cpu") -> Record:
    """Train and evaluate one run alone."""
    return execute_stack([config], observe, device)[0]


def execute_stack(configs: Sequence[RunConfig], observe: Observer | None = None, device: str = "cpu") -> list[Record]:
    """Train runs of one shape side by side, and evaluate each, on one thread. A run's numbers depend on nothing but its
    config and the machine; on the runs beside it neither, where ``stacks.is_exact``. On a GPU that is so up to
    rounding."""
    device = find_device(device)
    started, surroundings = time.time(), environment(device)
    with one_thread():
        stack, trainings = fit(configs, observe, device)
        trained = time.time()
        measured = [
            _evaluated(Member(stack, index), config) if training.diverged_at is None else None
            for index, (config, training) in enumerate(zip(configs, trainings, strict=True))
        ]
        outputs = _outputs(stack)
    surroundings |= {
        "stacked": len(configs),
        "train_seconds": (trained - started) / len(configs),
        "test_seconds": (time.time() - trained) / len(configs),
    }
    return [
        Record(
            config=config,
            metrics=_table(metrics or {name: [] for name in METRICS}),
            training=pd.DataFrame({"step": training.steps, "loss": training.losses}),
            outputs=None if metrics is None else found,
            diverged_at=training.diverged_at,
            environment=surroundings,
        )
        for config, metrics, training, found in zip(configs, measured, trainings, outputs, strict=True)
    ]


def train_and_keep(
    configs: Sequence[RunConfig], store: Store, device: str = "cpu", tracker: Followed = UNTRACKED
) -> None:
    """Train those runs of a stack that nobody else trains or has trained, and record them. A stack that raises an error
    is trained again run by run, so that only those that raise it alone are recorded as failed."""
    with store.writing(), Leases(store.files).held(config.id for config in configs) as held:
        leased = [config for config in configs if config.id in held.identities]
        mine = [config for config in leased if not store.holds(config) and not store.has_failed(config)]
        for part in exact_parts(mine, device):
            _train(part, store, device, tracker, held)


def _train(configs: list[RunConfig], store: Store, device: str, tracker: Followed, held: Held) -> None:
    try:
        with tracker.following(configs) as tracks:

            def observe(step: int, losses: list[float]) -> None:
                held.share = step / configs[0].protocol.steps
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


def _evaluated(model: Member, config: RunConfig) -> dict[str, Any]:
    return evaluate(model, *data(config), config.test_length, **config.evaluation.model_dump())


def _table(metrics: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({"length": range(1, len(metrics["mse"]) + 1), **metrics})


def _outputs(stack: nn.Module) -> list[pd.DataFrame | None]:
    """All that each of the theory's models computes, in four numbers, or six with BOS; None for models that take
    more."""
    if not isinstance(stack, LinearAttention):
        return [None] * len(next(stack.parameters()))
    outputs = stack.outputs().detach().double().cpu().numpy()
    return [pd.DataFrame(each, columns=["zero", "one", "bos"][: each.shape[1]]) for each in outputs]


def fit(
    configs: Sequence[RunConfig], observe: Observer | None = None, device: str = "cpu"
) -> tuple[nn.Module, list[Training]]:
    """The trained models of runs of one shape, as one stack, and how each one's training went."""
    if len({config.shape for config in configs}) != 1:
        raise ValueError(f"{len(configs)} runs differ in shape: cannot be trained in one stack")
    stack = build_models(configs).to(device)
    return stack, train_stack(stack, configs, observe, device)


def train_stack(
    stack: nn.Module, configs: Sequence[RunConfig], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train the freshly built models of runs of one shape, and say how each one's training went. ``observe`` may look
    at ``stack``, which is at each point as far as its training is."""
    objective = objective_of(stack, configs, device)
    return train(stack.parameters(), objective, [config.protocol for config in configs], observe)


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
        "system": platform.system(),
        "cores": os.cpu_count(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
