"""Whole commands, each in a new process: start-up, training, evaluation and plots included."""

import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, NamedTuple

from synthlab.storage.store import Store

if TYPE_CHECKING:
    import psutil

SAMPLING = 0.1  # seconds between measurements of the memory
MIB = 2**20


class Cost(NamedTuple):
    """The cost of a command: wall-clock seconds, peak memory, runs, and seconds of training and testing.

    Memory is the largest of the command and its workers at once, in MiB. The seconds of training and testing are those
    of the recorded runs, over all workers.
    """

    seconds: float
    memory: float
    runs: int
    busy: float


def time_command(arguments: list[str], one_core: bool = False, sampled: bool = True) -> Cost:
    """Run ``synthlab arguments`` with a results folder of its own, on one core if the system supports that.

    Raises CalledProcessError if it fails. Measuring the memory takes 3 % of two cores; if not ``sampled``, memory is 0.
    """
    import psutil  # an optional dependency

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
        records = list(Store(results).read_all())
        busy = sum(each.seconds for each in records)
        return Cost(seconds, memory / MIB, len(records), busy)


def _measure_memory(process: "psutil.Process") -> int:
    """Return the memory of a process and all its descendants.

    Shared pages are counted once if the system identifies them (Linux), else once for each.
    """
    import psutil

    total = 0
    try:
        for member in [process, *process.children(recursive=True)]:
            memory = member.memory_full_info()
            total += getattr(memory, "pss", memory.rss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        pass  # it ended in the meantime
    return total
