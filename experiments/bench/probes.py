"""Single timings. Each runs in a process of its own, on the threads that it states, with nothing else running."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from statistics import median
from typing import Any, NamedTuple, cast

import torch
from torch.utils.flop_counter import FlopCounterMode

from synthlab.numbers.family import build_models
from synthlab.numbers.objective import PrefixRegression
from synthlab.numbers.run import NumbersRun
from synthlab.runs.composition import compose
from synthlab.runs.run import Own, Run, resolve
from synthlab.training.ensembles import ensemble_size
from synthlab.training.execution import execute, execute_together

REPEATS = 5  # number of timings of a median
STEPS = 300  # steps of a timed training; the first third warms up


class BenchRow(NamedTuple):
    """A measurement: its value, its goal, the numbers that it comes from as text, and as data."""

    measure: str
    value: str
    goal: str
    details: str
    numbers: Mapping[str, float] = {}


class Timing(NamedTuple):
    """Seconds of an ensemble: to begin, of a training step, and to test all models."""

    begin: float
    step: float
    test: float


def run_in_processes(probe: Callable[..., Any], *arguments: Any, copies: int = 1) -> list[Any]:
    """Return what ``probe(*arguments)`` returns in each of ``copies`` new processes that run at the same time."""
    with ProcessPoolExecutor(copies, mp_context=get_context("spawn")) as pool:
        return [waiting.result() for waiting in [pool.submit(probe, *arguments) for _ in range(copies)]]


def compose_run(*overrides: str) -> NumbersRun:
    """Return the run that overrides of the lab's default describe."""
    return cast(NumbersRun, resolve(compose(["task=length", "outrep=rsqrt", *overrides])))


def repeat_seeds(config: Own, models: int) -> list[Own]:
    """Return ``models`` seeds of a run."""
    return [config.with_seeds({"seed": seed}) for seed in range(models)]


def time_ensemble(configs: Sequence[Run], steps: int = STEPS, device: str = "cpu") -> Timing:
    """Train an ensemble for ``steps`` steps, drawing examples included, and test its models.

    The time of a step is the median over four parts of the last two thirds.
    """
    every = steps // 6
    changes = {"steps": steps, "record_every": every, "warmup": 0}
    short = [each.model_copy(update={"protocol": each.protocol.model_copy(update=changes)}) for each in configs]
    seen: dict[int, float] = {}

    def observe(step: int, losses: list[float]) -> None:
        seen.setdefault(step, time.perf_counter())

    began = time.perf_counter()
    record = execute_together(short, observe, device)[0]
    warm = [moment for step, moment in seen.items() if step >= 2 * every]
    step = median(later - earlier for earlier, later in pairwise(warm)) / every if len(warm) > 1 else 0.0
    return Timing(warm[0] - began - 2 * every * step, step, record.environment["test_seconds"] * len(configs))


def models_an_hour(config: Run, models: int, step: float) -> float:
    """Return how many models are trained an hour in ensembles of ``models``, by the seconds of a step."""
    return 3600 * models / (config.protocol.steps * step)


def examples_per_second(overrides: list[str], steps: int, models: int | None = None) -> float:
    """Return the training examples a second on one thread, in ensembles of ``models``; None for a sweep's size."""
    config = compose_run(*overrides)
    models = models or ensemble_size(config)
    return (
        config.protocol.batch * config.train_length * models / time_ensemble(repeat_seeds(config, models), steps).step
    )


def flops_per_second(overrides: list[str], steps: int) -> tuple[float, float]:
    """Return the floating-point operations a second of the matrix products of training steps, and their peak.

    Both are for one thread and single precision; torch counts the operations.
    """
    torch.set_num_threads(1)
    config = compose_run(*overrides)
    configs = repeat_seeds(config, ensemble_size(config))
    objective = PrefixRegression(build_models(configs), configs)
    with FlopCounterMode(display=False) as counter:
        objective().sum().backward()
    square = torch.randn(1024, 1024)
    peaks = [2 * 1024**3 / seconds_a_call(lambda: square @ square, 2.0)]
    reached = counter.get_total_flops() / time_ensemble(configs, steps).step
    peaks.append(2 * 1024**3 / seconds_a_call(lambda: square @ square, 2.0))
    return reached, max(peaks)


def run_seconds(overrides: list[str]) -> float:
    """Return the seconds of one run alone, trained and tested, without start-up."""
    execute(compose_run(*overrides, "protocol.steps=20"))
    started = time.perf_counter()
    execute(compose_run(*overrides))
    return time.perf_counter() - started


def seconds_a_call(call: Callable[[], Any], seconds: float) -> float:
    """Return the median over blocks of calls that take about ``seconds`` together, after one to warm up."""
    call()
    started = time.perf_counter()
    call()
    once = time.perf_counter() - started
    calls = max(1, round(seconds / REPEATS / once))
    blocks = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        for _ in range(calls):
            call()
        blocks.append((time.perf_counter() - started) / calls)
    return median(blocks)
