"""The end of a sweep in words: its combinations from best to worst, and what failed."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from synthlab.analysis.conditions import as_text
from synthlab.analysis.tables import run_row, varying, with_followers
from synthlab.storage.records import Failure, Record, flat
from synthlab.storage.store import Store

MEASURES = ("horizon", "relative_error", "mse", "loss")  # of a run: what ``row`` adds to its settings
ERRORS = ("relative_error", "mse")
BEST, WORST, FAILED = 10, 5, 10  # lines of each that are shown; the rest is in the files


def row(record: Record) -> dict[str, Any]:
    """A run in one row: identity, status, settings, horizon, ``relative_error`` and ``mse`` at its longest test length,
    ``loss`` at the end of training, ``seconds`` it took."""
    last = {} if record.metrics.empty else record.metrics.iloc[-1]
    seconds = [record.environment.get(f"{part}_seconds", float("nan")) for part in ("train", "test")]
    return run_row(record) | {
        "relative_error": float(last["relative_error"]) if len(last) else float("nan"),
        "mse": float(last["mse"]) if len(last) else float("nan"),
        "loss": float(record.training["loss"].iloc[-1]) if len(record.training) else float("nan"),
        "seconds": sum(seconds),
    }


def ranked(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """A row for each combination, best first: the settings that differ, the number of ``seeds`` and how many of them
    ``diverged``, medians of the measures over the others.

    Combinations rank by the relative error at the longest test length, which compares where targets differ in size;
    an error that is not a number counts as infinite, and what diverged comes last.
    """
    table = pd.DataFrame(rows)
    measured = table["status"] != "diverged"
    table.loc[measured, [*ERRORS]] = table.loc[measured, [*ERRORS]].fillna(math.inf)
    columns = varying(table.drop(columns=["seconds", "loss"])) or ["task"]
    named = with_followers(table)
    by = [named[column].map(as_text) for column in columns]  # a setting that a run does not have is a value, too
    groups = table.assign(diverged=table["status"] == "diverged").groupby(by, sort=False)
    result = groups.agg(
        seeds=("seed", "count"), diverged=("diverged", "sum"), **{name: (name, "median") for name in MEASURES}
    )
    return result.sort_values([*ERRORS], kind="stable").reset_index()


def render(ranking: pd.DataFrame) -> str:
    """The best combinations and the worst, the worst first among these."""
    shown = ranking.drop(columns=["diverged"] if not ranking["diverged"].any() else [])
    shown = shown.rename(columns={"relative_error": "relative error", "loss": "training loss"})
    formats: dict[str, Any] = {"relative error": "{:.1%}".format, "horizon": "{:.0f}".format}
    formats |= dict.fromkeys(("mse", "training loss"), "{:.3g}".format)
    head = "median over seeds at the longest test length"
    if len(shown) <= BEST + WORST:
        return f"{head}, best first\n{shown.to_string(index=False, formatters=formats)}"
    text = shown.iloc[[*range(BEST), *range(len(shown) - 1, len(shown) - 1 - WORST, -1)]]
    lines = text.to_string(index=False, formatters=formats).splitlines()
    best = [f"{head}: the best {BEST} of {len(shown)}", *lines[: BEST + 1]]
    return "\n".join([*best, f"the worst {WORST}, from the last", lines[0], *lines[BEST + 1 :]])


def failure_lines(failures: Mapping[str, Failure | None], store: Store, asked: int) -> list[str]:
    """How many runs failed, and of each of the first few which and why."""
    lines = [f"failed: {len(failures)} of {asked} runs; each one's traceback is in {store.files.path('failed')}/ID"]
    settings = pd.DataFrame([flat(failure.config.model_dump()) for failure in failures.values() if failure is not None])
    columns = varying(settings)
    for identity, failure in list(failures.items())[:FAILED]:
        if failure is None:
            lines.append(f"  {identity}: what is known of it is damaged; retry=failed tries it again")
            continue
        run = flat(failure.config.model_dump())
        words = [f"{name}={_shown(run[name])}" for name in (*columns, "seed") if name in run]
        lines.append(f"  {identity} {' '.join(words)}: {failure.error}")
    if len(failures) > FAILED:
        lines.append(f"  and {len(failures) - FAILED} more")
    return lines


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
