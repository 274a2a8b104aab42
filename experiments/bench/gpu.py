"""The rows of ``synthlab bench gpu``: models that a GPU trains an hour, in about eight minutes.

- ensembles of several sizes, their training step captured in a CUDA graph, and compiled before that;
- several processes on one GPU;
- some of the ensembles of the committed reference, from which the time of all is estimated.
"""

import json
import lzma
import multiprocessing
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.pool import Pool
from pathlib import Path
from typing import NamedTuple

import experiments.long_short_alignment.scalar  # noqa: F401  # a family of the reference
from experiments.bench.probes import STEPS, BenchRow, Timing, models_an_hour, repeat_seeds, time_ensemble
from synthlab.runs.composition import compose
from synthlab.runs.run import Run, config_of, resolve
from synthlab.training import graphs
from synthlab.training.ensembles import plan_ensembles

REFERENCE = Path(__file__).parents[2] / "tests/experiments/reference_runs.jsonl.xz"  # the settings of its runs


class Shape(NamedTuple):
    """A run, and the sizes of its ensembles: to be captured, compiled, and trained by several processes at once."""

    overrides: list[str]
    captured: tuple[int, ...]
    compiled: tuple[int, ...]
    at_once: int | None


SHAPES = {
    "default model": Shape(["task=length", "outrep=reciprocal"], (1, 512, 2496), (1, 2496, 8192), 30),
    "width 64, two layers": Shape(["task=length", "model.width=64", "model.depth=2"], (1, 512), (512,), None),
    "language model": Shape(["task=text"], (1, 32, 128), (128,), 5),
    "copy": Shape(["task=copy"], (1, 64, 156), (156,), 5),
}


def measure(
    device: str = "cuda", shapes: Mapping[str, Shape] = SHAPES, steps: int = STEPS, processes: int = 4, share: int = 22
) -> Iterator[BenchRow]:
    """Yield all rows."""
    first, *_ = shapes.values()
    time_ensemble(_make_configs(first, 1), steps, device)  # the first run of a process takes longer
    for name, shape in shapes.items():
        for compiled, sizes in ((False, shape.captured), (True, shape.compiled)):
            for models in sizes:
                yield time_training(name, shape, models, compiled, steps, device)
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        pool.starmap(_train_alone, [(first, 1, steps, device)] * processes)  # a warm-up
        yield from time_at_once(pool, processes, shapes, steps, device)
        yield from time_reference(pool, processes, share, steps, device)


def time_training(name: str, shape: Shape, models: int, compiled: bool, steps: int, device: str) -> BenchRow:
    """Measure one ensemble."""
    graphs.PAYS = 0 if compiled else float("inf")
    configs = _make_configs(shape, models)
    found = time_ensemble(configs, steps, device)
    hour = models_an_hour(configs[0], models, found.step)
    testing = found.test / (found.step * configs[0].protocol.steps)
    measure = f"GPU: {name}, {models} at a time{', compiled' if compiled else ''}"
    details = f"models an hour; testing takes {testing:.0%} of the time of training"
    numbers = {"models": models, "compiled": compiled, "models_an_hour": round(hour), "testing": round(testing, 4)}
    return BenchRow(measure, f"{hour:,.0f}", "", details, numbers | found._asdict())


def time_at_once(
    pool: Pool, processes: int, shapes: Mapping[str, Shape], steps: int, device: str
) -> Iterator[BenchRow]:
    """Measure one ensemble of each shape, and as many at once as there are processes."""
    for name, shape in shapes.items():
        if shape.at_once is None:
            continue
        arguments = (shape, shape.at_once, steps, device)
        alone, together = (
            sum(pool.starmap(_train_alone, [arguments] * count, chunksize=1)) for count in (1, processes)
        )
        yield BenchRow(
            f"GPU: {name}, {shape.at_once} at a time in each of {processes} processes",
            f"{together:,.0f}",
            "",
            f"models an hour; {alone:,.0f} in one process",
            {"models": shape.at_once, "processes": processes, "models_an_hour": together, "alone": alone},
        )


def time_reference(pool: Pool, processes: int, share: int, steps: int, device: str) -> Iterator[BenchRow]:
    """Measure one of ``share`` ensembles of the reference, for each family, and estimate the time of all."""
    with lzma.open(REFERENCE, "rt", encoding="utf-8") as lines:
        settings = [json.loads(line)[1] for line in lines]
    for each in settings:
        if "digest" in each["task"]:
            each["task"]["digest"] = None  # the text is that of this machine
    families: dict[str, list[list[Run]]] = defaultdict(list)
    for ensemble in plan_ensembles([config_of(each) for each in settings], 1, device):
        families[ensemble[0].family].append(ensemble)
    for family, ensembles in families.items():
        timed = ensembles[share // 2 :: share]
        found = pool.starmap(_time_captured, [(ensemble, steps, device) for ensemble in timed], chunksize=1)
        # Ensembles differ in their steps most of all. The processes share the ensembles, and each other's delays.
        training = sum(ensemble[0].steps for ensemble in ensembles) * sum(each.step for each in found) / len(found)
        fixed = len(ensembles) * sum(each.begin + each.test for each in found) / len(found)
        training, fixed = training / processes, fixed / processes
        counts = {"runs": sum(map(len, ensembles)), "ensembles": len(ensembles), "timed": len(found)}
        yield BenchRow(
            f"GPU: the reference's {counts['runs']:,} runs of the family {family}, by {processes} processes",
            f"{(training + fixed) / 60:.0f} min",
            "",
            f"{training / 60:.0f} to train, {fixed / 60:.0f} to begin and test; by {len(found)} of {len(ensembles)}",
            counts | {"processes": processes, "training": training, "beginning_and_testing": fixed},
        )


def _make_configs(shape: Shape, models: int) -> list[Run]:
    return repeat_seeds(resolve(compose(shape.overrides)), models)


def _train_alone(shape: Shape, models: int, steps: int, device: str) -> float:
    """Return the models an hour of one process."""
    configs = _make_configs(shape, models)
    return models_an_hour(configs[0], models, time_ensemble(configs, steps, device).step)


def _time_captured(ensemble: Sequence[Run], steps: int, device: str) -> Timing:
    graphs.PAYS = float("inf")
    return time_ensemble(ensemble, steps, device)
