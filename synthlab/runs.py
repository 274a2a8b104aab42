"""From config to record: train, evaluate, keep; skip what is already recorded."""

import os
import platform
import sys
import time
from collections.abc import Iterable, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral
from typing import Any

import pandas as pd
import torch
from torch import nn

from synthlab.assembly import build_models, data, resolve
from synthlab.composition import as_overrides, compose
from synthlab.config import RunConfig
from synthlab.errors import InputError
from synthlab.evaluation import evaluate
from synthlab.layers import Member
from synthlab.linear_attention import LinearAttention
from synthlab.metrics import METRICS
from synthlab.records import Record
from synthlab.results import Records
from synthlab.stacks import objective_of, stacks
from synthlab.store import Store
from synthlab.training import Observer, Training, train
from synthlab.workers import find_device, one_thread, worked


def execute(config: RunConfig, observe: Observer | None = None, device: str = "cpu") -> Record:
    """Train and evaluate one run alone."""
    return execute_stack([config], observe, device)[0]


def execute_stack(configs: Sequence[RunConfig], observe: Observer | None = None, device: str = "cpu") -> list[Record]:
    """Train runs of one shape side by side, and evaluate each, on one thread. A run's numbers depend on nothing but its
    config and the machine; on the runs beside it neither, where ``stacks.is_exact``. On a GPU that is so up to
    rounding."""
    device = find_device(device)
    started, environment = time.time(), _environment(device)
    with one_thread():
        stack, trainings = fit(configs, observe, device)
        trained = time.time()
        measured = [
            _evaluated(Member(stack, index), config) if training.diverged_at is None else None
            for index, (config, training) in enumerate(zip(configs, trainings, strict=True))
        ]
        outputs = _outputs(stack)
    environment |= {
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
            environment=environment,
        )
        for config, metrics, training, found in zip(configs, measured, trainings, outputs, strict=True)
    ]


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
    objective = objective_of(stack, configs, device)
    return stack, train(stack.parameters(), objective, [config.protocol for config in configs], observe)


def ensure(
    configs: list[RunConfig], store: Store, workers: int = 1, progress: bool = True, device: str = "cpu"
) -> Records:
    """The records of ``configs``, in their order; only those that ``store`` does not hold yet are trained.

    Runs of one shape train side by side in stacks, and ``workers`` processes work on stacks, on one thread each; no
    record depends on either. ``device`` is cpu, cuda or auto (cuda where there is one, without workers). Damaged
    records, an unwritable folder and a device that is not there are refused before anything is trained; every finished
    stack is kept, also when a later one is interrupted.
    """
    if not isinstance(workers, int) or workers < 1:
        raise InputError(f"workers={workers}: must be a whole number, 1 or more")
    device = find_device(device)
    asked = {config.id: config for config in configs}
    found = {identity: store.find(config) for identity, config in asked.items()}
    missing = [config for identity, config in asked.items() if found[identity] is None]
    if missing:
        store.make_writable()
        store.tidy()
        done = len(found) - len(missing)
        work = partial(_execute_and_store, store=store, device=device)
        workers = workers if device == "cpu" else 1
        plan = stacks(missing, workers, device)
        with _bar(len(found), done, disable=not progress) as bar:
            for records in worked(work, plan, workers):
                found |= {record.config.id: record for record in records}
                bar.update(len(records))
    return Records(found[config.id] for config in configs)


def run(
    seeds: int | Iterable[int] | None = None,
    results: str | os.PathLike = "results",
    workers: int = 1,
    progress: bool = True,
    device: str = "cpu",
    **settings: Any,
) -> Records:
    """Train one model for each seed, or read what is recorded, and return the records.

    ``settings`` are the config's keys: ``run(task="length", encoding="nope", outrep="rsqrt", seeds=5,
    model={"width": 64}, train_length=20)``. A dotted key is given as ``**{"model.width": 64}``. ``seeds`` is a number
    of seeds, counted from 0, or the seeds themselves; without it the one of ``seed`` is used. ``workers`` processes
    train side by side; a script needs no ``__main__`` guard for them. ``device`` is cpu, cuda or auto. Raises
    InputError for settings that are refused.
    """
    if seeds is not None and "seed" in settings:
        raise InputError(f"seeds={seeds}: give either seed or seeds")
    config = resolve(compose(list(as_overrides(settings))))
    configs = [config] if seeds is None else [config.with_seed(seed) for seed in _seeds(seeds)]
    return ensure(configs, Store(results), workers, progress, device)


def _seeds(seeds: Any) -> list[int]:
    """The seeds that a number of seeds, or the seeds themselves, stand for."""
    number = isinstance(seeds, Integral) and not isinstance(seeds, bool)
    chosen = list(range(seeds)) if number else list(seeds) if isinstance(seeds, Iterable) else []
    if not chosen or not all(isinstance(seed, Integral) for seed in chosen):
        raise InputError(f"seeds={seeds}: must be a number of seeds, 1 or more, or a list of whole numbers")
    return [int(seed) for seed in chosen]


def _execute_and_store(configs: list[RunConfig], store: Store, device: str) -> list[Record]:
    records = execute_stack(configs, device=device)
    for record in records:
        store.write(record)
    return records


def _bar(total: int, done: int, disable: bool) -> Any:
    from tqdm.auto import tqdm

    class Bar(tqdm):
        """Runs done, runs left, time left."""

        @property
        def format_dict(self) -> dict[str, Any]:
            values = super().format_dict
            return values | {"left": values["total"] - values["n"]}

    # In a terminal the bar moves; in a log file it is a line now and then.
    return Bar(
        mininterval=0.1 if sys.stderr.isatty() else 10,
        total=total,
        initial=done,
        disable=disable,
        smoothing=0.1,
        bar_format="{bar:24} {n_fmt} runs done, {left} left | {elapsed} so far, {remaining} to go",
    )


def _version() -> str:
    try:
        return version("synthlab")
    except PackageNotFoundError:
        return "a checkout, not installed"


def _environment(device: str) -> dict[str, Any]:
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
