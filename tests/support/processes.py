"""What tests of processes and threads need."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find the workers")


def wait_for(condition: Callable[[], Any], seconds: float = 20) -> None:
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
