"""``python -m experiments.bench.stores [RECORDS ...]``: measure what a store costs as it grows.

Its records are made up, not trained. Writes a row for each number of records to results/bench/stores.csv.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthlab.collect import collect
from synthlab.config.base import resolve
from synthlab.config.composition import compose
from synthlab.output import say
from synthlab.regression.config import METRICS, RunConfig
from synthlab.storage.records import Record
from synthlab.storage.store import Store
from synthlab.sweeps.progress import ProgressLine
from synthlab.sweeps.ranking import summarize_run
from synthlab.sweeps.sweep import Sweep

MIB = 2**20
TASKS, ENCODINGS = ("mean", "length", "sum"), ("nope", "alibi", "rope", "learned")


def make_configs(number: int) -> list[RunConfig]:
    """Return runs of the lab's default protocol: tasks, encodings and as many seeds as needed."""
    kinds = [resolve(compose([f"task={task}", f"encoding={name}"])) for task in TASKS for name in ENCODINGS]
    return [kinds[i % len(kinds)].with_seeds({"seed": i // len(kinds)}) for i in range(number)]


def make_record(config: RunConfig, numbers: np.random.Generator) -> Record:
    """Return a record as large as a trained one, filled with random numbers."""
    protocol, lengths = config.protocol, range(1, config.test_length + 1)
    steps = range(protocol.record_every, protocol.steps + 1, protocol.record_every)
    metrics = {name: numbers.random(len(lengths)) for name in METRICS}
    return Record(
        config=config,
        metrics=pd.DataFrame({"length": lengths, **metrics}),
        training=pd.DataFrame({"step": steps, "loss": numbers.random(len(steps))}),
        environment={"train_seconds": 1.0, "test_seconds": 0.1},
    )


def costs(number: int) -> dict[str, Any]:
    """Return the costs of a store with ``number`` records: seconds, MiB, files."""
    asked, numbers = make_configs(number), np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        store, out = Store(folder), Path(folder, "runs.parquet")
        began = time.perf_counter()
        for config in asked:
            store.write(make_record(config, numbers))
        found: dict[str, Any] = {"records": number, "write_seconds": time.perf_counter() - began}
        blocks = [path.stat().st_blocks * 512 for path in store.runs.rglob("*") if path.is_file()]
        found |= {"files": len(blocks), "disk_mib": sum(blocks) / MIB}
        found["list_seconds"] = time_task(lambda: list(store.ids()))[0]
        found["look_seconds"] = time_task(lambda: ProgressLine({c.id: c for c in asked}, store, 0).count())[0]
        tasks = {
            "again": lambda: Sweep(asked, store, keep=summarize_run).end(),
            "parquet": lambda: collect(folder, out),
            "csv": lambda: collect(folder, out.with_suffix(".csv")),
            "one_length": lambda: collect(folder, Path(folder, "few.parquet"), f"length={asked[0].test_length}"),
            "one_run": lambda: collect(folder, Path(folder, "one.parquet"), "task=mean encoding=nope seed=0"),
        }
        for name, task in tasks.items():
            found[f"{name}_seconds"], found[f"{name}_peak_mib"] = time_in_process(task)
        found |= {f"{path.suffix[1:]}_mib": path.stat().st_size / MIB for path in (out, out.with_suffix(".csv"))}
    return found


def time_task(task: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that ``task`` takes, and its result."""
    began = time.perf_counter()
    result = task()
    return time.perf_counter() - began, result


def time_in_process(task: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds of ``task`` and the peak memory, in MiB, of a separate process that runs it."""
    context = get_context("fork")  # with fork, the task need not be pickled
    queue = context.Queue()

    def work() -> None:
        seconds, _ = time_task(task)
        queue.put((seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))

    process = context.Process(target=work)
    process.start()
    found = queue.get()
    process.join()
    return found


def main() -> None:
    """Measure stores of the sizes that the command line names."""
    sizes = [int(word) for word in sys.argv[1:]] or [1_000, 10_000]
    table = pd.DataFrame([costs(size) for size in sizes])
    say(table.T.to_string(float_format=lambda value: f"{value:,.2f}"))
    path = Path("results/bench/stores.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False)
    say(path)


if __name__ == "__main__":
    main()
