"""``synthlab bench``: measure how fast the lab is on this machine, with nothing else running.

Results are ratios of times measured in one run, because timings drift with the machine. The times themselves are given
too, and everything is written to ``results/bench/bench.json``.
"""

import json
import platform
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, cast

import numpy as np
import torch

from experiments.bench import plain_loop, probes, sequences
from experiments.bench.classroom import reaction
from experiments.bench.commands import time_command
from experiments.bench.probes import run_in_processes
from synthlab.cli.arguments import Parser, exit_on_input_error
from synthlab.errors import require
from synthlab.output import say
from synthlab.runs.composition import compose
from synthlab.runs.run import resolve
from synthlab.sequences.run import SequencesRun
from synthlab.sequences.tasks import TASKS
from synthlab.training.devices import count_cores

SMALL: list[str] = []
LARGE = ["model.width=64", "model.depth=2"]
CORES = count_cores()
FIGURES = ("output_alignment", "seeds=5")
LENGTHS = ((10, 50), (20, 126), (40, 317), (80, 800))


class BenchRow(NamedTuple):
    """A measurement: its value, its goal, and the numbers that it comes from."""

    measure: str
    value: str
    goal: str
    details: str


class Effort(NamedTuple):
    """How long to measure: seconds a timing, rounds whose median ratio counts, the sizes of timed problems.

    Also the settings of runs and figures.
    """

    seconds: float = 10.0
    rounds: int = 3
    eval_length: int = 100
    eval_sequences: int = 512
    steps: int = 200
    gpu_steps: int | None = None  # all steps of a run: building a large ensemble takes time
    lengths: tuple[tuple[int, int], ...] = LENGTHS
    run: tuple[str, ...] = ()
    figure: tuple[str, ...] = FIGURES
    sweep: tuple[str, ...] = ("seed=range(20)", "protocol.steps=5000")
    long: int = 512
    windows: tuple[tuple[int, int], ...] = ((64, 16), (256, 8))
    contexts: tuple[str, ...] = ()


QUICK_RUN = ("protocol.steps=2", "evaluation.sequences=4")
QUICK = Effort(
    seconds=0.2,
    rounds=1,
    eval_length=12,
    eval_sequences=16,
    steps=2,
    gpu_steps=2,
    lengths=((4, 8), (8, 16)),
    run=QUICK_RUN,
    figure=("output_alignment/figure5", "seeds=1"),
    sweep=("seed=0,1", *QUICK_RUN),
    long=8,
    windows=((8, 2),),
    contexts=("test_length=70", "evaluation.sequences=2"),
)


def time_training(name: str, overrides: list[str], goal: str, effort: Effort) -> BenchRow:
    """Measure the training examples a second of the whole machine: a process of one thread on each core.

    It is compared with x-transformers in its plain loop, on one thread or all, whichever is faster; and with as many
    such loops as there are cores.
    """
    rounds = []
    for _ in range(effort.rounds):
        ours = sum(run_in_processes(probes.examples_per_second, overrides, effort.seconds, copies=CORES))
        plain = [
            run_in_processes(probes.padded_examples_per_second, overrides, effort.seconds, threads)[0]
            for threads in sorted({1, CORES})
        ]
        side_by_side = sum(
            run_in_processes(probes.padded_examples_per_second, overrides, effort.seconds, 1, copies=CORES)
        )
        rounds.append((ours, max(plain), side_by_side))
    ours, plain, side_by_side = (median(each) for each in zip(*rounds, strict=True))
    ratio, fair = median(a / b for a, b, _ in rounds), median(a / c for a, _, c in rounds)
    return BenchRow(
        f"training, {name}, against x-transformers on padded batches",
        f"{ratio:.1f}x",
        goal,
        f"{ours:,.0f} against {plain:,.0f} examples/s; {fair:.1f}x {CORES} such loops side by side",
    )


def time_stacking(name: str, overrides: list[str], goal: str, effort: Effort) -> BenchRow:
    """Measure the gain from ensembles: one core, an ensemble against one model at a time."""
    [together] = run_in_processes(probes.examples_per_second, overrides, effort.seconds)
    [single] = run_in_processes(probes.examples_per_second, overrides, effort.seconds, 1)
    length = probes.compose_run(*overrides).train_length
    return BenchRow(
        f"one core, {name}, stacked against one model at a time",
        f"{together / single:.1f}x",
        goal,
        f"{together / length:,.0f} against {single / length:,.0f} sequences/s",
    )


def evaluation(effort: Effort) -> BenchRow:
    """Measure the evaluation of every test length in one pass against a batch for each."""
    length, sequences = effort.eval_length, effort.eval_sequences
    [(packed, batches)] = run_in_processes(probes.evaluation_seconds, length, sequences, effort.seconds)
    return BenchRow(
        f"testing at lengths 1..{length}, {sequences} sequences each, against a batch for each length",
        f"{batches / packed:.1f}x",
        "25x",
        f"{packed:.2f} against {batches:.2f} s",
    )


def utilization(name: str, overrides: list[str], goal: str, effort: Effort) -> BenchRow:
    """Measure the matrix arithmetic of training against the peak of the core."""
    [(reached, peak)] = run_in_processes(probes.flops_per_second, overrides, effort.seconds)
    return BenchRow(
        f"matrix FLOP/s of training, {name}, share of the core's peak",
        f"{reached / peak:.2f}",
        goal,
        f"{reached / 1e9:.0f} of {peak / 1e9:.0f} GFLOP/s",
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
    )
    yield BenchRow("peak memory of that", f"{cost.memory / 1024:.2f} GiB", "1.5 GiB", "all processes")


def time_commands(effort: Effort) -> Iterator[BenchRow]:
    """Measure single runs as a user starts them, on one core."""
    run = ["task=length", "outrep=rsqrt"]
    for name, goal, arguments in (
        ("one run, lab, one core", "", [*run, *effort.run]),
        ("one run, classroom, one core", "", [*run, "protocol=classroom", *effort.run]),
        ("start-up and one step", "3 s", [*run, "protocol.steps=1", "evaluation.sequences=1"]),
    ):
        cost = time_command(arguments, one_core=True)
        what = " ".join(["synthlab", *arguments])
        yield BenchRow(
            name,
            f"{cost.seconds:.1f} s",
            goal,
            f"{cost.memory:.0f} MiB; {what}",
        )


def time_sweep(effort: Effort) -> BenchRow:
    """Measure the overhead of a sweep: its time beyond training and testing, for runs of about 5 seconds each."""
    arguments = ["sweep", "task=mean,length", "encoding=nope,rope", *effort.sweep]
    cost, workers = time_command(arguments, sampled=False), CORES
    return BenchRow(
        f"time of a sweep beyond training and testing, {cost.busy / cost.runs:.1f} s a run, {workers} workers",
        f"{1 - cost.busy / (workers * cost.seconds):.1%}",
        "5%",
        f"{cost.runs} runs in {cost.seconds:.0f} s; {' '.join(['synthlab', *arguments])}",
    )


def classroom(effort: Effort) -> Iterator[BenchRow]:
    """Measure how fast the page for the class reacts, without the browser's part of it."""
    found = reaction(effort.seconds)
    one_core = "one core, RoPE, width 32; without the browser's part"
    yield BenchRow("classroom: first curve after Train", f"{found.first:.2f} s", "2 s", one_core)
    yield BenchRow("classroom: curves drawn anew", f"{found.looks:.1f} a second", "2", one_core)
    yield BenchRow("classroom: stopped after Stop", f"{found.stop:.2f} s", "1 s", one_core)


def gpu(effort: Effort) -> Iterator[BenchRow]:
    """Measure the models of each family that a GPU trains in an hour, as ensembles and one at a time; and one core."""
    for name, goal, overrides in (
        ("the default model", "100x", ["task=length", "outrep=rsqrt"]),
        ("language model", "", ["task=text"]),
        ("copy", "", ["task=copy"]),
    ):
        measure = f"GPU: {name}, models trained an hour, stacked against one at a time"
        if not torch.cuda.is_available():
            yield BenchRow(measure, "not measured", goal, "no GPU on this machine")
            continue
        [core] = run_in_processes(probes.models_an_hour, overrides, effort.steps)
        [alone] = run_in_processes(probes.models_an_hour, overrides, effort.steps, 1, "cuda")
        [together] = run_in_processes(probes.models_an_hour, overrides, effort.gpu_steps, None, "cuda")
        details = (
            f"{together:,.0f} against {alone:,.0f} models; {core:,.0f} on one core; {torch.cuda.get_device_name()}"
        )
        yield BenchRow(measure, f"{together / alone:.0f}x", goal, details)


def tokens(effort: Effort) -> Iterator[BenchRow]:
    """Measure language models and sequence tasks against a plain PyTorch loop on as many tokens, with padding."""
    runs: list[tuple[str, Any, int, int]] = []
    for window, batch in effort.windows:
        config = resolve(compose(["task=text", f"train_length={window}", f"protocol.batch={batch}"]))
        runs.append((f"language model, windows of {window}, {batch} a step", config, 256, window))
    for task in ("copy", "sort"):
        config = cast(SequencesRun, resolve(compose([f"task={task}"])))
        problem = TASKS.build(config.task)
        runs.append((task, config, problem.vocabulary, problem.width(config.train_length)))
    for name, config, vocabulary, window in runs:
        timing = (config, vocabulary, window, effort.seconds / 4, 2 * effort.rounds)
        [(plain, lab, ratio)] = run_in_processes(plain_loop.step_seconds, *timing)
        count = config.protocol.batch * window
        yield BenchRow(
            f"training, {name}, against a plain PyTorch loop, one core",
            f"{ratio:.2f}x",
            "1.3x" if window < 256 else "1.2x",
            f"{count / lab:,.0f} against {count / plain:,.0f} tokens/s",
        )
    overrides = ["task=text", *effort.contexts]
    [plain], [alone] = (
        run_in_processes(plain_loop.testing_seconds, *overrides, *more) for more in ([], ["extension=dynamic_ntk"])
    )
    yield BenchRow(
        "testing a language model at every context length, each in a window of its own",
        f"{alone:.1f} s",
        "",
        f"one core; {plain:.1f} s where one window serves all; {' '.join([*overrides, 'extension=dynamic_ntk'])}",
    )


def answers(effort: Effort) -> Iterator[BenchRow]:
    """Measure sequence tasks: the time of drawing examples during training, and memory at a long length."""
    [shares] = run_in_processes(sequences.every_drawing_share, effort.seconds / 10)
    slowest = max(shares, key=lambda name: shares[name])
    yield BenchRow(
        f"drawing examples of sequence tasks against training on them, the slowest of {len(shares)}",
        f"{shares[slowest]:.2f}",
        "at most 1",
        f"{slowest}; median {median(shares.values()):.3f}",
    )
    lengths = [f"train_length={effort.long}", f"test_length={effort.long}"]
    steps = ["protocol.steps=5", "protocol.record_every=5", "evaluation.sequences=1"]
    arguments = ["run", "task=copy", *lengths, *steps]
    cost = time_command(arguments, one_core=True)
    yield BenchRow(
        f"peak memory of copy at length {effort.long}",
        f"{cost.memory / 1024:.2f} GiB",
        "1 GiB",
        f"one core; {' '.join(['synthlab', *arguments])}",
    )


def growth(effort: Effort) -> BenchRow:
    """Measure how cost grows with length: packed, and as the sum of separate runs for each length."""
    times = [
        run_in_processes(probes.growing_cost, *pair, effort.steps, effort.eval_sequences // 8)[0]
        for pair in effort.lengths
    ]
    grown = np.log([train for train, _ in effort.lengths])
    packed, separate = (np.polyfit(grown, np.log(seconds), 1)[0] for seconds in zip(*times, strict=True))
    (first, last), (short, long) = (effort.lengths[0], effort.lengths[-1]), (times[0], times[-1])
    return BenchRow(
        f"cost as lengths grow from {first[0]} and {first[1]} to {last[0]} and {last[1]} (training, testing)",
        f"power {packed:.1f} against {separate:.1f}",
        "one less",
        f"{short[0]:.2f} to {long[0]:.1f} s against {short[1]:.2f} to {long[1]:.1f} s for a run at each length",
    )


def measure_all(effort: Effort) -> Iterator[BenchRow]:
    """Yield all measurements, as they are taken."""
    small, large = "the default model", "width 64, 2 layers"
    yield time_training(small, SMALL, "12x", effort)
    yield time_training(large, LARGE, "8x", effort)
    yield time_stacking(small, SMALL, "", effort)
    yield time_stacking(large, LARGE, "", effort)
    yield evaluation(effort)
    yield utilization(large, LARGE, "0.5", effort)
    yield utilization(small, SMALL, "0.3", effort)
    yield from figures(effort)
    yield from tokens(effort)
    yield from answers(effort)
    yield growth(effort)
    yield from gpu(effort)
    yield time_sweep(effort)
    yield from time_commands(effort)
    yield from classroom(effort)


def main() -> None:
    """Run ``synthlab bench``."""
    parser = Parser(prog="synthlab bench", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("effort", nargs="?", choices=["quick"], help="a short measurement, to check that it works")
    quick = parser.parse_args().effort == "quick"
    with exit_on_input_error():
        require("bench", "x_transformers", "psutil", what="synthlab bench")
    taken = []
    for row in measure_all(QUICK if quick else Effort()):
        taken.append(row)
        goal = f" (goal {row.goal})" if row.goal else ""
        say(f"{row.measure}: {row.value}{goal}\n    {row.details}")
    folder = Path("results/bench")
    folder.mkdir(parents=True, exist_ok=True)
    machine = {
        "cores": CORES,
        "machine": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    report = {"machine": machine, "quick": quick, "rows": [row._asdict() for row in taken]}
    (folder / "bench.json").write_text(json.dumps(report, indent=1) + "\n")
    say(f"written: {folder / 'bench.json'}")


if __name__ == "__main__":
    main()
