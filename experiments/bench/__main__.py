"""``synthlab bench``: measure how fast the lab is on this machine, with nothing else running.

Results are ratios of times measured in one run, because timings drift with the machine. The times themselves are given
too, and everything is written to ``results/bench/bench.json``, or ``gpu.json``.
"""

import json
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, cast

import torch

from experiments.bench import gpu, mqar, probes, rivals
from experiments.bench.commands import time_command
from experiments.bench.probes import BenchRow, run_in_processes
from synthlab.cli.arguments import Parser, exit_on_input_error
from synthlab.errors import InputError, require
from synthlab.output import print_out
from synthlab.runs.composition import compose
from synthlab.runs.run import resolve
from synthlab.sequences.run import SequencesRun
from synthlab.sequences.tasks import TASKS
from synthlab.training.devices import count_cores

SMALL: list[str] = []
LARGE = ["model.width=64", "model.depth=2"]
CORES = count_cores()


class Effort(NamedTuple):
    """How long to measure: seconds a timing, rounds whose median counts, steps of a timed training.

    Also the settings of runs, figures and sweeps, the windows and batches of language models, and the texts and passes
    of associative recall.
    """

    seconds: float = 10.0
    rounds: int = 3
    steps: int = probes.STEPS
    run: tuple[str, ...] = ()
    figure: tuple[str, ...] = ("output_alignment", "seeds=5")
    sweep: tuple[str, ...] = ("seed=range(20)", "protocol.steps=5000")
    windows: tuple[tuple[int, int], ...] = ((64, 16), (256, 8))
    recall: tuple[int, int] = (mqar.ROWS, mqar.PASSES)


QUICK_RUN = ("protocol.steps=2", "evaluation.sequences=4")
QUICK = Effort(
    seconds=0.2,
    rounds=1,
    steps=6,
    run=QUICK_RUN,
    figure=("output_alignment/figure5", "seeds=1"),
    sweep=("seed=0,1", *QUICK_RUN),
    windows=((8, 2),),
    recall=(mqar.BATCH, 1),
)


def time_training(name: str, overrides: list[str], goal: str, effort: Effort) -> BenchRow:
    """Measure the training examples a second of the whole machine: a process of one thread on each core.

    It is compared with x-transformers in its plain loop, on one thread or all, whichever is faster; and with as many
    such loops as there are cores.
    """
    rounds = []
    for _ in range(effort.rounds):
        ours = sum(run_in_processes(probes.examples_per_second, overrides, effort.steps, copies=CORES))
        padded = rivals.padded_examples_per_second
        plain = [run_in_processes(padded, overrides, effort.seconds, threads)[0] for threads in sorted({1, CORES})]
        side_by_side = sum(run_in_processes(padded, overrides, effort.seconds, 1, copies=CORES))
        rounds.append((ours, max(plain), side_by_side))
    ours, plain, side_by_side = (median(each) for each in zip(*rounds, strict=True))
    ratio, fair = median(a / b for a, b, _ in rounds), median(a / c for a, _, c in rounds)
    return BenchRow(
        f"{name} against x-transformers on padded batches",
        f"{ratio:.1f}x",
        goal,
        f"{ours:,.0f} against {plain:,.0f} examples/s; {fair:.1f}x {CORES} such loops side by side",
    )


def time_stacking(name: str, overrides: list[str], effort: Effort) -> BenchRow:
    """Measure the gain from ensembles: one core, an ensemble against one model at a time."""
    config = probes.compose_run(*overrides)
    together, single = (
        run_in_processes(probes.examples_per_second, overrides, effort.steps, models)[0] / config.train_length
        for models in (None, 1)
    )
    sequences = config.protocol.steps * config.protocol.batch
    return BenchRow(
        f"{name}, ensembles against one at a time",
        f"{together / single:.1f}x",
        "",
        f"{together:,.0f} against {single:,.0f} sequences/s",
        {"models_an_hour": round(3600 * together / sequences), "alone": round(3600 * single / sequences)},
    )


def utilization(name: str, overrides: list[str], goal: str, effort: Effort) -> BenchRow:
    """Measure the matrix arithmetic of training against the peak of the core."""
    [(reached, peak)] = run_in_processes(probes.flops_per_second, overrides, effort.steps)
    return BenchRow(
        f"{name}, matrix products, share of the core's peak",
        f"{reached / peak:.2f}",
        goal,
        f"{reached / 1e9:.0f} of {peak / 1e9:.0f} GFLOP/s",
        {"share": round(reached / peak, 4)},
    )


def time_tokens(effort: Effort) -> Iterator[BenchRow]:
    """Measure language models and sequence tasks against a plain PyTorch loop on as many tokens, with padding."""
    runs: list[tuple[str, Any, int, int]] = []
    for window, batch in effort.windows:
        config = resolve(compose(["task=text", f"train_length={window}", f"protocol.batch={batch}"]))
        runs.append((f"language model, windows of {window},", config, 256, window))
    for task in ("copy", "sort"):
        config = cast(SequencesRun, resolve(compose([f"task={task}"])))
        sequence_task = TASKS.build(config.task)
        runs.append((task, config, sequence_task.vocabulary, sequence_task.width(config.train_length)))
    for name, config, vocabulary, window in runs:
        timing = (config, vocabulary, window, effort.seconds / 4, 2 * effort.rounds)
        [(plain, lab, ratio)] = run_in_processes(rivals.step_seconds, *timing)
        count = config.protocol.batch * window
        hours = {key: round(probes.models_an_hour(config, 1, step)) for key, step in (("alone", lab), ("plain", plain))}
        yield BenchRow(
            f"{name} against a plain loop",
            f"{ratio:.2f}x",
            "1.3x" if window < 256 else "1.2x",
            f"{count / lab:,.0f} against {count / plain:,.0f} tokens/s",
            hours,
        )


def figures(effort: Effort) -> Iterator[BenchRow]:
    """Measure the paper's figures from scratch, against one model at a time on one core."""
    arguments = ["study", *effort.figure, *effort.run]
    cost = time_command(arguments)
    [one] = run_in_processes(probes.run_seconds, list(effort.run))
    command = " ".join(["synthlab", *arguments])
    yield BenchRow(
        f"figures 1, 3, 4, 5 from nothing: {cost.runs} runs",
        f"{cost.seconds:.0f} s",
        "300 s",
        f"{one * cost.runs / cost.seconds:.1f} times faster than as many runs of {one:.1f} s in turn; {command}",
        {"seconds": round(cost.seconds, 1)},
    )
    yield BenchRow("peak memory of that", f"{cost.memory / 1024:.2f} GiB", "1.5 GiB", "all processes")


def time_sweep(effort: Effort) -> BenchRow:
    """Measure the overhead of a sweep: its time beyond training and testing, for runs of about 5 seconds each."""
    arguments = ["sweep", "task=mean,length", "encoding=nope,rope", *effort.sweep]
    cost, workers = time_command(arguments, sampled=False), CORES
    lost, each = 1 - cost.busy / (workers * cost.seconds), cost.busy / cost.runs
    return BenchRow(
        "time of a sweep beyond training and testing",
        f"{lost:.1%}",
        "5%",
        f"{cost.runs} runs of {each:.1f} s in {cost.seconds:.0f} s; {' '.join(['synthlab', *arguments])}",
        {"seconds": round(cost.seconds, 1), "share": round(lost, 4)},
    )


def time_commands(effort: Effort) -> Iterator[BenchRow]:
    """Measure single runs as a user starts them, on one core."""
    run = ["task=length", "outrep=rsqrt"]
    for name, goal, arguments in (
        ("one run, one core", "", [*run, *effort.run]),
        ("classroom run, one core", "", [*run, "protocol=classroom", *effort.run]),
        ("start-up and one step", "3 s", [*run, "protocol.steps=1", "evaluation.sequences=1"]),
    ):
        cost = time_command(arguments, one_core=True)
        details = f"{cost.memory:.0f} MiB; {' '.join(['synthlab', *arguments])}"
        yield BenchRow(name, f"{cost.seconds:.1f} s", goal, details, {"seconds": round(cost.seconds, 1)})


def measure_all(effort: Effort) -> Iterator[BenchRow]:
    """Yield the measurements of this machine's cores, as they are taken."""
    small, large = "default model", "width 64, two layers"
    yield time_training(small, SMALL, "12x", effort)
    yield time_training(large, LARGE, "8x", effort)
    yield time_stacking(small, SMALL, effort)
    yield time_stacking(large, LARGE, effort)
    yield utilization(large, LARGE, "0.5", effort)
    yield utilization(small, SMALL, "0.3", effort)
    yield from time_tokens(effort)
    yield from mqar.measure(*effort.recall)
    yield from figures(effort)
    yield time_sweep(effort)
    yield from time_commands(effort)


def main() -> None:
    """Run ``synthlab bench``."""
    parser = Parser(prog="synthlab bench", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument(
        "what", nargs="?", choices=["quick", "gpu"], help="quick: a short try of the cores' rows; gpu: a GPU's rows"
    )
    what = parser.parse_args().what
    name, machine = "bench", {"cores": CORES, "machine": platform.machine()}
    with exit_on_input_error():
        if what == "gpu":
            if not torch.cuda.is_available():
                raise InputError("gpu: there is no GPU on this machine")
            name, machine["gpu"] = "gpu", torch.cuda.get_device_name()
        else:
            require("bench", "x_transformers", "psutil", what="synthlab bench")
    taken = []
    for row in gpu.measure() if what == "gpu" else measure_all(QUICK if what == "quick" else Effort()):
        taken.append(row)
        goal = f" (goal {row.goal})" if row.goal else ""
        print_out(f"{row.measure}: {row.value}{goal}\n    {row.details}")
    path = Path(f"results/bench/{name}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    machine |= {"date": time.strftime("%Y-%m-%d"), "python": platform.python_version(), "torch": torch.__version__}
    report = {"machine": machine, "quick": what == "quick", "rows": [row._asdict() for row in taken]}
    path.write_text(json.dumps(report, indent=1) + "\n")
    print_out(f"written: {path}")


if __name__ == "__main__":
    main()
