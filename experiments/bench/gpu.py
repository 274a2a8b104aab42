"""Speed on a GPU, in about eight minutes: ``python -m experiments.bench.gpu`` prints a line of JSON a measurement.

- ``training``: models trained an hour in ensembles of several sizes, captured, and compiled before that; and the time
  of testing a model as a share of its training.
- ``at once``: the same for several processes on one GPU.
- ``reference``: some of the ensembles of the committed reference, from which the time of all is estimated.
"""

import json
import lzma
import multiprocessing
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

import experiments.long_short_alignment.scalar  # noqa: F401  # a kind of run of the reference
from experiments.bench.probes import repeat_seeds
from synthlab.output import say
from synthlab.runs.composition import compose
from synthlab.runs.run import Run, config_of, resolve
from synthlab.training import graphs
from synthlab.training.ensembles import plan_ensembles
from synthlab.training.execution import execute_together

WARM, TIMED = 100, 200  # steps before timing, and timed
REFERENCE = Path(__file__).parents[2] / "tests/experiments/reference_runs.jsonl.xz"  # the settings of its runs
RUNS: dict[str, tuple[list[str], tuple[int, ...], tuple[int, ...]]] = {  # overrides; ensembles, captured and compiled
    "default": (["task=length", "outrep=reciprocal"], (1, 512, 2496, 8192), (8192,)),
    "width 64, two layers": (["task=length", "model.width=64", "model.depth=2"], (1, 512), (512,)),
    "language": (["task=text"], (1, 32, 128), (128,)),
    "copy": (["task=copy"], (1, 64, 156), (156,)),
}


def time_ensemble(configs: Sequence[Run], device: str = "cuda") -> dict[str, float]:
    """Return the seconds of an ensemble of its full number of steps: to begin, a step, and to test, and their sum."""
    steps = {"steps": WARM + TIMED, "record_every": WARM // 2, "warmup": 0}
    short = [each.model_copy(update={"protocol": each.protocol.model_copy(update=steps)}) for each in configs]
    seen: dict[int, float] = {}

    def observe(step: int, losses: list[float]) -> None:
        seen.setdefault(step, time.perf_counter())

    began = time.perf_counter()
    record = execute_together(short, observe, device)[0]
    last = max(seen)  # a run may stop before
    step = (seen[last] - seen[WARM]) / max(1, last - WARM)
    test = record.environment["test_seconds"] * len(configs)
    begin = seen[WARM] - began - WARM * step
    return {"begin": begin, "step": step, "test": test, "all": begin + configs[0].steps * step + test}


def make_configs(name: str, models: int) -> list[Run]:
    """Return the runs of an ensemble of ``RUNS``."""
    return repeat_seeds(resolve(compose(RUNS[name][0])), models)


def time_training(name: str, models: int, compiled: bool) -> dict[str, Any]:
    """Measure one ensemble."""
    graphs.PAYS = 0 if compiled else float("inf")
    configs = make_configs(name, models)
    found = time_ensemble(configs)
    training = configs[0].steps * found["step"]
    hour = {"models_an_hour": round(3600 * models / training), "testing": round(found["test"] / training, 4)}
    gib = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.empty_cache()
    return {
        "row": "training",
        "name": name,
        "models": models,
        "compiled": compiled,
        **hour,
        **_round(found),
        "GiB": gib,
    }


def time_at_once(most: int) -> Iterator[dict[str, Any]]:
    """Measure one ensemble, and ``most`` at once in as many processes."""
    with multiprocessing.get_context("spawn").Pool(most) as pool:
        pool.starmap(_models_an_hour, [("default", 1)] * most)  # the first run of a process takes longer
        for name, models in (("default", 30), ("language", 5), ("copy", 5)):
            for processes in (1, most):
                hour = sum(pool.starmap(_models_an_hour, [(name, models)] * processes, chunksize=1))
                row = {"row": "at once", "name": name, "models": models, "processes": processes}
                yield {**row, "models_an_hour": round(hour)}


def _models_an_hour(name: str, models: int) -> float:
    configs = make_configs(name, models)
    return 3600 * models / (configs[0].steps * time_ensemble(configs)["step"])


def time_reference(share: int) -> Iterator[dict[str, Any]]:
    """Measure one of ``share`` ensembles of the reference, of each kind of run, and estimate the time of all."""
    with lzma.open(REFERENCE, "rt", encoding="utf-8") as lines:
        settings = [json.loads(line)[1] for line in lines]
    for each in settings:
        if "digest" in each["task"]:
            each["task"]["digest"] = None  # the text is that of this machine
    configs = [config_of(each) for each in settings]
    kinds: dict[str, list[list[Run]]] = defaultdict(list)
    for ensemble in plan_ensembles(configs, 1, "cuda"):
        kinds[ensemble[0].family].append(ensemble)
    for kind, ensembles in kinds.items():
        timed = ensembles[share // 2 :: share]
        found = [time_ensemble(ensemble) for ensemble in timed]
        # Ensembles differ in their steps most of all.
        per_step = sum(each["step"] for each in found) / len(found)
        fixed = sum(each["begin"] + each["test"] for each in found) / len(found)
        steps = sum(ensemble[0].steps for ensemble in ensembles)
        counts = {"runs": sum(map(len, ensembles)), "ensembles": len(ensembles), "timed": len(timed), "steps": steps}
        whole = {"training": round(steps * per_step), "beginning_and_testing": round(len(ensembles) * fixed)}
        yield {"row": "reference", "name": kind, **counts, **whole, "each": [_round(each) for each in found]}


def _round(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 5) for name, value in values.items()}


def measure() -> Iterator[dict[str, Any]]:
    """Yield all measurements."""
    yield {"row": "machine", "device": torch.cuda.get_device_name(), "torch": torch.__version__}
    time_training("default", 1, False)  # the first run of a process takes longer
    for name, (_, captured, _) in RUNS.items():
        for models in captured:
            yield time_training(name, models, False)
    yield from time_at_once(4)
    for name, (_, _, compiled) in RUNS.items():
        for models in compiled:
            yield time_training(name, models, True)
    graphs.PAYS = float("inf")
    yield from time_reference(11)


if __name__ == "__main__":
    if not torch.cuda.is_available():
        sys.exit("there is no GPU on this machine")
    began = time.perf_counter()
    for measurement in measure():
        say(json.dumps({**measurement, "at": round(time.perf_counter() - began)}))
        sys.stdout.flush()
