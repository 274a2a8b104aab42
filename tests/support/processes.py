"""What tests of processes and threads need."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find the workers")


def start(*words: str, **environment: str) -> subprocess.Popen:
    """``python -m WORDS``, which can import the classes of ``support``."""
    # A session of its own: signals then reach the command and its workers, as Ctrl-C in a terminal does, and not us.
    # A shell that starts the tests in the background has them ignore SIGINT; the command must not inherit that.
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parents[1],
        env={**os.environ, **environment, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def finish(*words: str, **environment: str) -> subprocess.CompletedProcess:
    """The same, when it has ended."""
    process = start(*words, **environment)
    out, errors = process.communicate(timeout=300)
    return subprocess.CompletedProcess(words, process.returncode, out, errors)


def wait_for(condition: Callable[[], Any], seconds: float = 90) -> None:
    """Wait until a condition holds, and fail after so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """What ``calls`` return, each called in a thread of its own at the same time."""
    start, results = threading.Barrier(len(calls)), [None] * len(calls)

    def work(number: int) -> None:
        start.wait()
        results[number] = calls[number]()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
