"""Single timings. Each runs in a process of its own, on the threads that it states, with nothing else running."""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median
from typing import Any, cast

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from experiments.bench.baselines import CausalBaseline, make_padded_step
from synthlab.models.layers import Member
from synthlab.models.transformer import Transformer
from synthlab.numbers.evaluation import data, measure_outputs, readouts, test_sequences
from synthlab.numbers.family import build_models
from synthlab.numbers.objective import PrefixRegression
from synthlab.numbers.run import NumbersRun
from synthlab.rng import stream
from synthlab.runs.composition import compose
from synthlab.runs.run import Own, resolve
from synthlab.training.ensembles import ensemble_size
from synthlab.training.execution import execute, fit

REPEATS = 5  # number of timings of a median


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


def examples_per_second(overrides: list[str], seconds: float, models: int | None = None, device: str = "cpu") -> float:
    """Return the examples a second of the lab's own loop on one thread, data and optimizer included.

    It trains an ensemble of ``models`` models; None for the size that a sweep uses.
    """
    torch.set_num_threads(1)
    config = compose_run(*overrides)
    models = models or ensemble_size(config, device)
    batch = config.protocol.batch * config.train_length * models
    rates, steps = [], 10
    while len(rates) < REPEATS:
        timed = compose_run(*overrides, f"protocol.steps={steps}")
        started = time.perf_counter()
        fit(repeat_seeds(timed, models), device=device)
        took = time.perf_counter() - started
        if took < seconds / REPEATS / 2:
            steps *= 2  # too short to time; and the first was a warm-up
            continue
        rates.append(batch * steps / took)
    return median(rates)


def models_an_hour(overrides: list[str], steps: int | None, models: int | None = None, device: str = "cpu") -> float:
    """Return how many models are trained an hour, on one thread or on a GPU, in ensembles of ``models`` models.

    ``models`` is None for the size that a sweep uses. Training is timed for ``steps`` steps, after a few to warm up;
    None for all steps of a run.
    """
    torch.set_num_threads(1)
    config = resolve(compose(overrides))
    steps, models = steps or config.protocol.steps, models or ensemble_size(config, device)

    def train(count: int) -> float:
        configs = repeat_seeds(resolve(compose([*overrides, f"protocol.steps={count}"])), models)
        started = time.perf_counter()
        fit(configs, device=device)
        return time.perf_counter() - started

    train(10)
    return 3600 * models / (train(steps) * config.protocol.steps / steps)


def padded_examples_per_second(overrides: list[str], seconds: float, threads: int) -> float:
    """Return the examples a second of x-transformers in a plain loop over padded batches."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    config = compose_run(*overrides)
    return config.protocol.batch * config.train_length / seconds_a_call(make_padded_step(config), seconds)


def evaluation_seconds(length: int, sequences: int, seconds: float) -> tuple[float, float]:
    """Return the seconds of testing a model at every length 1..``length`` on one thread.

    The first value is that of one pass over all lengths, the second that of a batch for each. Raises AssertionError if
    the two disagree.
    """
    torch.set_num_threads(1)
    config = compose_run(f"test_length={length}", f"evaluation.sequences={sequences}")
    stack = build_models([config])
    task, inputs, outrep = data(config)
    x = test_sequences(inputs, sequences, length, config.test_seed)
    model, plain = Member(stack, 0), CausalBaseline(cast(Transformer, stack))

    def each_length() -> torch.Tensor:
        return torch.stack([plain(x[:, :k]) for k in range(1, length + 1)], 1)

    def packed() -> None:
        x = test_sequences(inputs, sequences, length, config.test_seed)
        outputs = readouts(model, x, stream(config.test_seed, "evaluation_positions"))
        measure_outputs(outputs, x, task, outrep, config.evaluation.largest)

    with torch.no_grad():
        torch.testing.assert_close(model(x), each_length(), rtol=1e-4, atol=1e-4)
        return (
            seconds_a_call(packed, seconds / 4),
            seconds_a_call(each_length, seconds),
        )


def flops_per_second(overrides: list[str], seconds: float) -> tuple[float, float]:
    """Return the floating-point operations a second of the matrix products of training steps, and their peak.

    Both are for one thread and single precision; torch counts the operations.
    """
    torch.set_num_threads(1)
    config = compose_run(*overrides)
    configs = repeat_seeds(config, ensemble_size(config))
    objective = PrefixRegression(build_models(configs), configs)
    with FlopCounterMode(display=False) as counter:
        objective().sum().backward()
    an_example = counter.get_total_flops() / (len(configs) * config.protocol.batch * config.train_length)
    square = torch.randn(1024, 1024)
    peaks = [2 * 1024**3 / seconds_a_call(lambda: square @ square, seconds / 4)]
    rate = examples_per_second(overrides, seconds)
    peaks.append(2 * 1024**3 / seconds_a_call(lambda: square @ square, seconds / 4))
    return an_example * rate, max(peaks)


def run_seconds(overrides: list[str]) -> float:
    """Return the seconds of one run alone, trained and tested, without start-up."""
    torch.set_num_threads(1)
    execute(compose_run(*overrides, "protocol.steps=20"))
    started = time.perf_counter()
    execute(compose_run(*overrides))
    return time.perf_counter() - started


def growing_cost(train_length: int, test_length: int, steps: int, sequences: int) -> tuple[float, float]:
    """Return the seconds of training on lengths up to ``train_length`` and testing up to ``test_length``.

    They are for one thread: in one packed run; and as the sum over all lengths of separate runs, timed at some and
    interpolated.
    """
    torch.set_num_threads(1)
    lengths = [f"train_length={train_length}", f"test_length={test_length}", f"evaluation.sequences={sequences}"]
    config = compose_run(*lengths, f"protocol.steps={steps}")
    packed = seconds_a_call(lambda: execute(config), 1.0)
    plain = CausalBaseline(cast(Transformer, build_models([config])))
    optimizer = torch.optim.Adam(plain.parameters(), fused=True)

    def rows(count: int, length: int) -> torch.Tensor:
        return torch.randint(0, 2, (count, length), generator=stream(0, "training"))

    def train_step(length: int) -> None:
        loss = (plain(rows(config.protocol.batch, length)) - length).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def test_step(length: int) -> None:
        with torch.no_grad():
            plain(rows(sequences, length))

    return packed, steps * _sum_over_lengths(train_step, train_length) + _sum_over_lengths(test_step, test_length)


def _sum_over_lengths(call: Callable[[int], None], longest: int) -> float:
    """Return the sum of ``call``'s seconds over lengths 1..``longest``."""
    timed = np.unique(np.geomspace(1, longest, 10).round().astype(int))
    seconds = [seconds_a_call(lambda length=int(length): call(length), 0.1) for length in timed]
    return float(np.interp(range(1, longest + 1), timed, seconds).sum())


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
