"""Whole commands, each in a process of its own and from nothing: start-up, training, evaluation, drawing included."""

import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, NamedTuple

from synthlab.storage.store import Store

if TYPE_CHECKING:
    import psutil

SAMPLING = 0.1  # seconds between looks at the memory
MIB = 2**20


class Cost(NamedTuple):
    """Wall-clock seconds of a command, the largest memory that it and its workers held at once in MiB, the runs it
    recorded, and the seconds that training and testing took of these, over all workers."""

    seconds: float
    memory: float
    runs: int
    busy: float


def time_command(arguments: list[str], one_core: bool = False, sampled: bool = True) -> Cost:
    """Run ``synthlab arguments`` with a results folder of its own, on one core where the system can be told so; raises
    CalledProcessError if it fails. Looking at the memory takes 3 % of two cores; where not ``sampled``, memory is 0."""
    import psutil  # not everybody has it

    with tempfile.TemporaryDirectory() as results:
        command = [sys.executable, "-m", "synthlab", *arguments, f"results={results}"]
        started = time.perf_counter()
        process = psutil.Popen(command, stdout=subprocess.DEVNULL)
        if one_core and hasattr(process, "cpu_affinity"):
            process.cpu_affinity(process.cpu_affinity()[:1])
        memory = 0
        while process.poll() is None:
            memory = max(memory, _measure_memory(process) if sampled else 0)
            time.sleep(SAMPLING)
        seconds = time.perf_counter() - started
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        records = list(Store(results))
        busy = sum(each.seconds for each in records)
        return Cost(seconds, memory / MIB, len(records), busy)


def _measure_memory(process: "psutil.Process") -> int:
    """Memory of a process and all below it. Pages that they share are counted once where the system says which those
    are (Linux), else once for each."""
    import psutil

    total = 0
    try:
        for member in [process, *process.children(recursive=True)]:
            memory = member.memory_full_info()
            total += getattr(memory, "pss", memory.rss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        pass  # it ended while we looked
    return total
