"""Whole commands, each in a new process: start-up, training, evaluation and plots included."""

import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from synthlab.storage.store import Store

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
            if sampled:
                try:
                    used = [each.memory_full_info() for each in [process, *process.children(recursive=True)]]
                    # Shared pages count once where the system identifies them (Linux), else once for each process.
                    memory = max(memory, sum(getattr(each, "pss", each.rss) for each in used))
                except (psutil.NoSuchProcess, psutil.AccessDenied):
                    pass  # one has ended in the meantime
            time.sleep(SAMPLING)
        seconds = time.perf_counter() - started
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        records = list(Store(results).read_all())
        return Cost(seconds, memory / MIB, len(records), sum(each.seconds for each in records))
