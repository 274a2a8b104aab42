"""From config to record: train, evaluate, keep; skip what is already recorded."""

import os
import platform
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral
from typing import Any

import pandas as pd
import torch
from torch import nn

from synthlab.assembly import Parts, build, resolve
from synthlab.composition import as_overrides, compose
from synthlab.config import RunConfig
from synthlab.errors import InputError
from synthlab.evaluation import evaluate
from synthlab.linear_attention import LinearAttention
from synthlab.metrics import METRICS
from synthlab.objective import PrefixRegression, length_weights
from synthlab.records import Record, Store
from synthlab.results import Records
from synthlab.streams import stream
from synthlab.training import Observer, Training, train


def execute(config: RunConfig, observe: Observer | None = None) -> Record:
    """Train and evaluate, on one thread: the numbers then depend on nothing but the config and the machine."""
    started, environment = time.time(), _environment()
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
        outputs=_outputs(model),
        diverged_at=training.diverged_at,
        environment=environment | {"train_seconds": trained - started, "test_seconds": time.time() - trained},
    )


def _outputs(model: nn.Module) -> pd.DataFrame | None:
    """All that the theory's model computes, in four numbers, or six with BOS; None for models that take more."""
    if not isinstance(model, LinearAttention):
        return None
    outputs = model.outputs().detach().double().numpy()
    return pd.DataFrame(outputs, columns=["zero", "one", "bos"][: outputs.shape[1]])


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


def ensure(configs: list[RunConfig], store: Store, workers: int = 1, progress: bool = True) -> Records:
    """The records of ``configs``, in their order; only those that ``store`` does not hold yet are trained.

    ``workers`` processes train side by side, on one thread each. Damaged records and an unwritable folder are refused
    before anything is trained; every finished run is kept, also when a later one is interrupted.
    """
    if not isinstance(workers, int) or workers < 1:
        raise InputError(f"workers={workers}: must be a whole number, 1 or more")
    asked = {config.id: config for config in configs}
    found = {identity: store.find(config) for identity, config in asked.items()}
    missing = [config for identity, config in asked.items() if found[identity] is None]
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
    if seeds is not None and "seed" in settings:
        raise InputError(f"seeds={seeds}: give either seed or seeds")
    config = resolve(compose(list(as_overrides(settings))))
    configs = [config] if seeds is None else [config.with_seed(seed) for seed in _seeds(seeds)]
    return ensure(configs, Store(results), workers, progress)


def _seeds(seeds: Any) -> list[int]:
    """The seeds that a number of seeds, or the seeds themselves, stand for."""
    number = isinstance(seeds, Integral) and not isinstance(seeds, bool)
    chosen = list(range(seeds)) if number else list(seeds) if isinstance(seeds, Iterable) else []
    if not chosen or not all(isinstance(seed, Integral) for seed in chosen):
        raise InputError(f"seeds={seeds}: must be a number of seeds, 1 or more, or a list of whole numbers")
    return [int(seed) for seed in chosen]


def _executed(configs: list[RunConfig], store: Store, workers: int) -> Iterator[Record]:
    """Each run's record as it finishes, already stored."""
    workers = min(workers, len(configs))
    if workers == 1:
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


def _version() -> str:
    try:
        return version("synthlab")
    except PackageNotFoundError:
        return "a checkout, not installed"


def _environment() -> dict[str, Any]:
    return {
        "synthlab": _version(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
