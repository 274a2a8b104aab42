"""From config to record: train, evaluate, keep; skip what is already recorded."""

import os
import platform
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from typing import Any

import pandas as pd
import torch

from synthlab.assembly import Parts, build, resolve
from synthlab.config import RunConfig, as_overrides, compose
from synthlab.errors import InputError
from synthlab.evaluation import METRICS, evaluate
from synthlab.objective import PrefixRegression, length_weights
from synthlab.records import Record, Records, Store
from synthlab.streams import stream
from synthlab.training import Observer, Training, train


def execute(config: RunConfig, observe: Observer | None = None) -> Record:
    """Train and evaluate, on one thread: the numbers then depend on nothing but the config and the machine."""
    started = time.time()
    with _one_thread():
        (task, inputs, outrep, model), training = fit(config, observe)
        trained = time.time()
        if training.diverged_at is None:
            how = config.evaluation.model_dump()
            metrics = evaluate(model, task, inputs, outrep, config.test_length, **how)
        else:
            metrics = {name: [] for name in METRICS}
    return Record(
        config=config,
        metrics=pd.DataFrame({"length": range(1, len(metrics["mse"]) + 1), **metrics}),
        training=pd.DataFrame({"step": training.steps, "loss": training.losses}),
        diverged_at=training.diverged_at,
        environment=_environment() | {"train_seconds": trained - started, "test_seconds": time.time() - trained},
    )


def fit(config: RunConfig, observe: Observer | None = None) -> tuple[Parts, Training]:
    """The trained model with its task and map, and how the training went."""
    parts = task, inputs, outrep, model = build(config)
    objective = PrefixRegression(
        model,
        task,
        inputs,
        outrep,
        batch=config.protocol.batch,
        weights=length_weights(config.length_distribution, config.train_length),
        generator=stream(config.seed, "training"),
        position_generator=stream(config.seed, "positions"),
    )
    return parts, train(model.parameters(), objective, config.protocol, observe)


def ensure(configs: list[RunConfig], results: str | os.PathLike, workers: int = 1, progress: bool = True) -> Records:
    """The records of ``configs``, in their order; only those that are not below ``results`` yet are trained.

    ``workers`` processes train side by side, on one thread each. Damaged records and an unwritable folder are refused
    before anything is trained; every finished run is kept, also when a later one is interrupted.
    """
    store = Store(results)
    found = {config.id: store.find(config) for config in configs}
    missing = list({config.id: config for config in configs if found[config.id] is None}.values())
    if missing:
        store.make_writable()
        store.sweep()
        done = len(found) - len(missing)
        with _bar(len(found), done, disable=not progress) as bar:
            for record in _executed(missing, store, workers):
                found[record.config.id] = record
                bar.update()
    return Records(found[config.id] for config in configs)


def run(
    seeds: int | Iterable[int] | None = None,
    results: str | os.PathLike = "results",
    workers: int = 1,
    progress: bool = True,
    **settings: Any,
) -> Records:
    """Train one model for each seed, or read what is recorded, and return the records.

    ``settings`` are the config's keys: ``run(task="length", encoding="nope", outrep="rsqrt", seeds=5,
    model={"width": 64}, train_length=20)``. A dotted key is given as ``**{"model.width": 64}``. ``seeds`` is a number
    of seeds, counted from 0, or the seeds themselves; without it the one of ``seed`` is used. ``workers`` processes
    train side by side; a script needs no ``__main__`` guard for them. Raises InputError for settings that are refused.
    """
    config = resolve(compose(list(as_overrides(settings))))
    if seeds is not None and "seed" in settings:
        raise InputError(f"seeds={seeds}: give either seed or seeds")
    if isinstance(seeds, int):
        if seeds < 1:
            raise InputError(f"seeds={seeds}: must be at least 1")
        seeds = range(seeds)
    configs = [config] if seeds is None else [config.with_seed(seed) for seed in seeds]
    return ensure(configs, results, workers, progress)


def _executed(configs: list[RunConfig], store: Store, workers: int) -> Iterator[Record]:
    """Each run's record as it finishes, already stored."""
    if min(workers, len(configs)) == 1:
        yield from (_execute_and_store(config, store) for config in configs)
        return
    from joblib import Parallel, delayed

    # Longest first, so that no long run is left to the end while other cores idle; and only as many handed out as there
    # are workers, so that an interruption leaves no queue behind to be unwound.
    configs = sorted(configs, key=_cost, reverse=True)
    parallel = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1, pre_dispatch=workers)
    yield from parallel(delayed(_work)(config, store, os.getpid()) for config in configs)


def _work(config: RunConfig, store: Store, parent: int) -> Record:
    _leave_with(parent)
    return _execute_and_store(config, store)


@cache
def _leave_with(parent: int) -> None:
    """End this worker when its parent is gone: one that is killed cannot tell its workers to stop."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _execute_and_store(config: RunConfig, store: Store) -> Record:
    record = execute(config)
    store.write(record)
    return record


def _cost(config: RunConfig) -> int:
    """How long a run takes, up to a factor: enough to order runs by."""
    return config.protocol.steps * config.protocol.batch * config.train_length * config.model.get("depth", 1)


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


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _environment() -> dict[str, Any]:
    return {
        "synthlab": version("synthlab"),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
