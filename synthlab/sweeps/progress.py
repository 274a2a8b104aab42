"""The progress line of a sweep: a moving bar in a terminal or notebook, a line now and then in a log file."""

import builtins
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from synthlab.config.base import Config
from synthlab.errors import InputError
from synthlab.storage.leases import Leases
from synthlab.storage.store import Store

TERMINAL, LOG = 1.0, 30.0  # seconds between polls of the store: polling takes time from the workers
# Errors that are ignored: a progress line must not end a sweep.
LOST = (OSError, ValueError, AttributeError, InputError)
PATIENCE = 20  # polling takes at most 1 / PATIENCE of the time


class RunCounts(NamedTuple):
    """The number of runs in each state; ``share`` is the sum of progress fractions of those in training."""

    done: int
    failed: int
    skipped: int
    left: int
    share: float = 0.0

    def __str__(self) -> str:
        return f"{self.done} done, {self.failed} failed, {self.skipped} skipped, {self.left} left"


class ProgressLine:
    """A progress line, shown while the block runs, by polling the store.

    ``asked`` has the sweep's runs by identity; ``skipped`` is how many of them were recorded before it began.
    """

    def __init__(self, asked: Mapping[str, Config], store: Store, skipped: int, shown: bool = True):
        self.asked, self.store, self.skipped, self.shown = asked, store, skipped, shown
        self._stop, self._thread = threading.Event(), threading.Thread(target=self._keep_up, daemon=True)

    def __enter__(self) -> "ProgressLine":
        if self.shown:
            with suppress(*LOST):
                self._bar = _bar(len(self.asked))
                self._show(self.count())
                self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._thread.is_alive():
            self._stop.set()
            self._thread.join()
            with suppress(*LOST):
                self._show(self.count(), last=True)
                self._bar.close()

    def count(self) -> RunCounts:
        """Return the present counts of runs."""
        there = self.store.find_recorded(self.asked)
        recorded = len(there)
        failed = len((self.asked.keys() & set(self.store.ids("failed"))) - there)
        left = len(self.asked) - recorded - failed
        share = Leases(self.store.files).share(self.asked.keys() - there) if left else 0.0
        return RunCounts(recorded - self.skipped, failed, self.skipped, left, share)

    def _keep_up(self) -> None:
        wait = self._bar.pause
        while not self._stop.wait(wait):
            began = time.monotonic()
            with suppress(*LOST):
                self._show(self.count())
            wait = max(self._bar.pause, PATIENCE * (time.monotonic() - began))

    def _show(self, count: RunCounts, last: bool = False) -> None:
        bar = self._bar
        bar.text, bar.n = str(count), len(self.asked) - count.left + (0 if last else count.share)
        if bar.start is None:
            bar.start = bar.n
        bar.refresh_if_due(last)


def _bar(total: int) -> Any:
    from tqdm.auto import tqdm

    moves = sys.stderr.isatty() or hasattr(builtins, "__IPYTHON__")

    class Bar(tqdm):
        """A bar with a text, whose remaining time is estimated from when it began."""

        text, start, told = "", None, ""
        pause = TERMINAL if moves else LOG

        @property
        def format_dict(self) -> dict[str, Any]:
            values = super().format_dict
            made, elapsed = self.n - (self.start or 0), values["elapsed"]
            left = tqdm.format_interval(elapsed * (total - self.n) / made) if made > 0 else "?"
            left = left if self.n < total else tqdm.format_interval(0)
            return dict(values) | {"text": self.text, "so_far": tqdm.format_interval(elapsed), "time_left": left}

        def refresh_if_due(self, last: bool) -> None:
            if moves or not last or self.text != self.told:
                self.told = self.text
                self.refresh()

    # Bars of block characters are for terminals; a log has one line for each poll, which is not overwritten.
    return Bar(
        total=total,
        file=None if moves else _Lines(),
        ascii=None if moves else " #",
        bar_format="{bar:24} {text} | {so_far} so far, {time_left} to go",
        delay=0 if moves else 1e-3,  # a log has no line before the first poll, and no line twice
    )


class _Lines:
    """Standard error, with a line for each time that a terminal would overwrite one."""

    def write(self, text: str) -> None:
        text = text.replace("\r", "").strip("\n")
        if text:
            sys.stderr.write(f"{text}\n")

    def flush(self) -> None:
        sys.stderr.flush()
