"""``python -m experiments.bench.stores [RECORDS ...]``: measure what a store costs as it grows.

Its records are made up, not trained, but for 2,000 runs of two steps (``trained``). Writes a row for each number of
records to results/bench/stores.csv.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthlab import load_records
from synthlab.analysis.collection import Collection
from synthlab.analysis.comparison import gather_points
from synthlab.collect import collect
from synthlab.numbers.run import METRICS
from synthlab.output import print_err, print_out
from synthlab.runs.composition import compose
from synthlab.runs.run import Run, resolve
from synthlab.storage.records import Record
from synthlab.storage.store import Store
from synthlab.sweeps.sweep import Sweep, ensure

MIB = 2**20
TASKS, ENCODINGS = ("mean", "length", "sum"), ("nope", "alibi", "rope", "learned")
GROUP, ASKED, TRAINED = 500, 1000, 2000  # runs of an ensemble, of a sweep in a large store, and of two steps


def make_configs(number: int, *more: str) -> Iterator[Run]:
    """Yield runs of the lab's default protocol: tasks and encodings, one after the other, each with as many seeds."""
    kinds = [resolve(compose([f"task={task}", f"encoding={name}", *more])) for task in TASKS for name in ENCODINGS]
    each = -(-number // len(kinds))
    return islice((kind.with_seeds({"seed": seed}) for kind in kinds for seed in range(each)), number)


def make_record(config: Run, numbers: np.random.Generator) -> Record:
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
        store, out, seconds, processor = Store(folder), Path(folder, "runs.parquet"), 0.0, 0.0
        while group := [make_record(config, numbers) for config in islice(asked, GROUP)]:
            began = time.process_time()
            seconds += time_task(lambda records=group: store.write(*records))
            processor += time.process_time() - began
        files = [path.stat().st_blocks * 512 for path in Path(folder, "runs").iterdir()]
        found = {"records": number, "write_seconds": seconds, "write_cpu_seconds": processor}
        found |= {"files": len(files), "disk_mib": sum(files) / MIB}
        few = list(islice(make_configs(number), 0, None, -(-number // ASKED)))
        tasks = {
            "nothing": lambda: None,  # the memory of the imports
            "list": lambda: Store(folder).ids(),
            "sweep": lambda: Sweep(few, Store(folder), keep=lambda record: record).prepare(),
            "one_length": lambda: load_records(folder, f"length={few[0].test_length}"),
            "one_seed": lambda: load_records(folder, "seed=0"),
            "parquet": lambda: collect(folder, out),
            "compare": lambda: gather_points(Collection(Store(folder)).read(), None, "length", None, None, None),
        }
        for name, task in tasks.items():
            measured = time_in_process(task)
            found |= {f"{name}_{unit}": value for unit, value in measured.items()}
            values = (f"{value:.1f} {unit}" for unit, value in measured.items())
            print_err(f"{number:,} records: {name}: {', '.join(values)}")
        return found


def time_task(task: Callable[[], Any]) -> float:
    """Return the seconds that ``task`` takes."""
    began = time.perf_counter()
    task()
    return time.perf_counter() - began


def time_in_process(task: Callable[[], Any]) -> dict[str, float]:
    """Return the seconds of ``task`` in a process of its own, those of its processor, and its peak memory in MiB."""
    context = get_context("fork")  # with fork, the task need not be pickled
    queue = context.Queue()

    def work() -> None:
        seconds, usage = time_task(task), resource.getrusage(resource.RUSAGE_SELF)
        processor = usage.ru_utime + usage.ru_stime
        queue.put({"seconds": seconds, "cpu_seconds": processor, "peak_mib": usage.ru_maxrss / 1024})

    process = context.Process(target=work)
    process.start()
    found = queue.get()
    process.join()
    return found


def time_short_runs(number: int = TRAINED) -> dict[str, Any]:
    """Return the seconds of runs of two steps on one core, and those of their training and testing alone."""
    short = list(make_configs(number, "protocol.steps=2", "protocol.record_every=1"))
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        records = ensure(short, Store(folder), progress=False)
        seconds = time.perf_counter() - began
    parts = {name: sum(each.environment[f"{name}_seconds"] for each in records) for name in ("train", "test")}
    return {"trained_runs": number, "trained_seconds": seconds} | {f"{name}_seconds": parts[name] for name in parts}


def main() -> None:
    """Measure stores of the sizes that the command line names."""
    sizes = [int(word) for word in sys.argv[1:]] or [1_000, 100_000]
    table = pd.DataFrame([costs(size) | (time_short_runs() if size == sizes[0] else {}) for size in sizes])
    print_out(table.T.to_string(float_format=lambda value: f"{value:,.2f}"))
    path = Path("results/bench/stores.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False)
    print_out(path)


if __name__ == "__main__":
    main()
