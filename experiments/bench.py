"""``make bench``: what the lab's main commands cost on this machine. Measure with nothing else running.

Every measurement is a whole command in a process of its own, from nothing: start-up, training, evaluation and drawing
included.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import psutil

RUN = ["synthlab", "task=length", "outrep=rsqrt"]
FIGURE = ["experiments", "figure=1"]
SAMPLING = 0.1  # seconds between looks at the memory
MIB = 2**20


class Measurement(NamedTuple):
    """A command with its wall-clock seconds and the largest memory that it and its workers held at once, in MiB."""

    what: str
    command: list[str]
    seconds: float
    memory: float


def measure(what: str, arguments: list[str], one_core: bool = False) -> Measurement:
    """Run ``python -m arguments`` with a results folder of its own; raises CalledProcessError if it fails."""
    with tempfile.TemporaryDirectory() as results:
        command = [sys.executable, "-m", *arguments, f"results={results}"]
        started = time.perf_counter()
        process = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if one_core and hasattr(process, "cpu_affinity"):
            process.cpu_affinity(process.cpu_affinity()[:1])
        memory = 0
        while process.poll() is None:
            memory = max(memory, _held(process))
            time.sleep(SAMPLING)
        seconds = time.perf_counter() - started
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
    return Measurement(what, ["python", "-m", *arguments], seconds, memory / MIB)


def _held(process: psutil.Process) -> int:
    """Memory of a process and all below it. Pages that they share are counted once for each."""
    total = 0
    try:
        for member in [process, *process.children(recursive=True)]:
            total += member.memory_info().rss
    except psutil.NoSuchProcess:
        pass  # it ended while we looked
    return total


def table(measurements: list[Measurement]) -> str:
    """The measurements for reading, the second and later ones also as ratios to the first."""
    first = measurements[0].seconds
    lines = [f"{'measured':<34} {'seconds':>8} {'ratio':>7} {'MiB':>6}  command"]
    lines += [
        f"{m.what:<34} {m.seconds:>8.1f} {m.seconds / first:>7.2f} {m.memory:>6.0f}  {' '.join(m.command)}"
        for m in measurements
    ]
    return "\n".join(lines)


def main() -> None:
    measurements = []
    for what, arguments, one_core in (
        ("one run, lab, one core", RUN, True),
        ("one run, classroom, one core", [*RUN, "protocol=classroom"], True),
        ("start-up alone: one step", [*RUN, "protocol.steps=1"], True),
        ("Figure 1: 65 runs, all cores", FIGURE, False),
    ):
        print(f"measuring: {what}", file=sys.stderr, flush=True)
        measurements.append(measure(what, arguments, one_core))
    print(table(measurements))
    folder = Path("results/bench")
    folder.mkdir(parents=True, exist_ok=True)
    machine: dict[str, Any] = {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
    report = {"machine": machine, "measurements": [m._asdict() for m in measurements]}
    (folder / "bench.json").write_text(json.dumps(report, indent=1) + "\n")
    print(f"written: {folder / 'bench.json'}")


if __name__ == "__main__":
    main()
