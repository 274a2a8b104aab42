"""The page's server, started for a test."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def served(*arguments: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """The page as a user serves it, and its address. Ended as by Ctrl-C, which itself is ignored in the background."""
    command = [sys.executable, "-m", "classroom", "open=false", "port=0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process, re.search(r"http://\S+", process.stdout.readline()).group()
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.out, process.err = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
