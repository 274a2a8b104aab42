"""The cost of an evaluation, printed before it begins, and its progress."""

import sys
import time
from collections.abc import Sequence
from typing import Any

from synthlab.huggingface.perplexity.documents import Documents
from synthlab.huggingface.perplexity.measurements import Measurement
from synthlab.huggingface.perplexity.settings import Settings
from synthlab.output import tell

LOG = 30.0  # seconds between two lines if standard error is no terminal


def describe_cost(settings: Settings, documents: Documents, missing: Sequence[Measurement], asked: int) -> list[str]:
    """Return lines on what is read, what is recorded and what remains to compute."""
    kept, longest = len(documents.kept), max(settings.lengths)
    short = documents.found - kept
    lines = [
        f"documents: {kept} of {documents.found}" + (f"; {short} have fewer than {longest:,} tokens" if short else "")
    ]
    costs = [task.cost(settings.batch) for task in missing]
    tokens, calls = sum(cost[0] for cost in costs), sum(cost[1] for cost in costs)
    recorded = f"; {asked - len(missing)} of {asked} parts are recorded" if len(missing) < asked else ""
    return [*lines, f"cost: {tokens:,} tokens in {calls:,} calls of up to {settings.batch:,} tokens{recorded}"]


class Clock:
    """A progress bar over ``total`` tokens, which estimates the remaining time after the first batch."""

    def __init__(self, total: int):
        self.total, self.done, self.began = total, 0, time.monotonic()

    def __enter__(self) -> "Clock":
        from tqdm import tqdm

        moves = sys.stderr is not None and sys.stderr.isatty()
        self.bar: Any = tqdm(total=self.total, unit="token", unit_scale=True, leave=False, disable=not moves)
        self.began = self.told = time.monotonic()
        return self

    def __exit__(self, *_: Any) -> None:
        self.bar.close()

    def tick(self, tokens: int) -> None:
        """Record that ``tokens`` more are computed."""
        first, now = not self.done, time.monotonic()
        self.done += tokens
        self.bar.update(tokens)
        left = (now - self.began) * (self.total / self.done - 1)
        if first and left >= 1:
            tell(f"time: about {format_seconds(left)}, by the first batch")
        if self.bar.disable and now - self.told > LOG:
            self.told = now
            tell(f"{self.done / self.total:.0%} of {self.total:,} tokens, about {format_seconds(left)} to go")


def format_seconds(seconds: float) -> str:
    """Return a time as ``2 h 05 min``, ``3 min`` or ``20 s``."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min"
