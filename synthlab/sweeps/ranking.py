"""The summary of a sweep: its combinations from best to worst, and its failures."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from synthlab.analysis.conditions import to_text
from synthlab.analysis.printing import chance_of
from synthlab.analysis.tables import find_varying, mark_equal_seeds, run_row
from synthlab.runs.run import run_type
from synthlab.runs.sources import user_classes
from synthlab.storage.records import Failure, Record, flatten

BEST, WORST, FAILED = 10, 5, 10  # number of lines of each in the summary; the files have all


def summarize_run(record: Record) -> dict[str, Any]:
    """Return a run in one row: identity, family, status, settings, horizon and results.

    The results are the metrics that rank it and the level of ``chance`` at its longest test length, ``training_loss``
    at the end of training, and ``seconds`` of training and testing.
    """
    metrics, losses = record.metrics, record.training["loss"]
    chance = None if metrics.empty else chance_of(record)
    return run_row(record) | {
        **{name: math.nan if metrics.empty else metrics[name].iloc[-1] for name in record.config.measures().ranking},
        "chance": math.nan if chance is None else float(chance.iloc[-1]),
        "training_loss": math.nan if losses.empty else losses.iloc[-1],
        "seconds": record.seconds,
    }


def rankings(rows: Sequence[Mapping[str, Any]]) -> dict[str, pd.DataFrame]:
    """Return the ranking of the runs of each family, by its name."""
    families = dict.fromkeys(row["family"] for row in rows)
    return {family: rank_runs([row for row in rows if row["family"] == family]) for family in families}


def rank_runs(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a row for each combination of settings of runs of one family, best first.

    The columns are the settings that differ, the number of ``seeds`` and how many of them ``diverged``, and medians
    over the others of what ``summarize_run`` measured; ``chance`` follows the primary metric, whose level it is.
    Combinations rank by the metrics of ``Measures.ranking`` at the longest test length. NaN counts as the worst value,
    and combinations that diverged come last.
    """
    table, measures = pd.DataFrame(rows), run_type(rows[0]["family"]).measures()
    measured, order = table["status"] != "diverged", [*measures.ranking]
    lower = [measures.metrics[name].better != "higher" for name in order]
    for name, is_lower in zip(order, lower, strict=True):
        table.loc[measured, name] = table.loc[measured, name].fillna(math.inf if is_lower else -math.inf)
    columns = find_varying(table) or ["task" if "task" in table else "family"]
    named = mark_equal_seeds(table)
    by = [named[column].map(to_text) for column in columns]  # a missing setting is a value too
    groups = table.assign(diverged=table["status"] == "diverged").groupby(by, sort=False)
    shown = [*["horizon"] * (measures.criterion is not None), *order, "training_loss"]
    if table["chance"].notna().any():
        shown.insert(shown.index(measures.primary) + 1, "chance")
    result = groups.agg(
        seeds=("seed", "count"), diverged=("diverged", "sum"), **{name: (name, "median") for name in shown}
    )
    return result.sort_values(order, ascending=lower, kind="stable").reset_index()


def render_rankings(found: Mapping[str, pd.DataFrame]) -> str:
    """Return lines with the best and the worst combinations of each family, starting the latter with the worst."""
    return "\n\n".join(_render(table, family, len(found) > 1) for family, table in found.items())


def _render(ranking: pd.DataFrame, family: str, is_one_of_several: bool) -> str:
    measures = run_type(family).measures()
    metrics = measures.metrics
    formats: dict[str, Any] = {name.replace("_", " "): each.text for name, each in metrics.items()}
    formats |= {"horizon": "{:.0f}".format, "training loss": "{:.3g}".format, "chance": metrics[measures.primary].text}
    shown = ranking.drop(columns=["diverged"] if not ranking["diverged"].any() else [])
    shown = shown.rename(columns={name: name.replace("_", " ") for name in (*metrics, "training_loss")})
    head = f"tasks with {run_type(family).answer} for an answer: " * is_one_of_several
    head += "median over seeds at the longest test length"
    if len(shown) <= BEST + WORST:
        return f"{head}, best first\n{shown.to_string(index=False, formatters=formats)}"
    text = shown.iloc[[*range(BEST), *range(len(shown) - 1, len(shown) - 1 - WORST, -1)]]
    names, *lines = text.to_string(index=False, formatters=formats).splitlines()
    best = [f"{head}: the best {BEST} of {len(shown)}", names, *lines[:BEST]]
    return "\n".join([*best, f"the worst {WORST}, from the last", names, *lines[BEST:]])


def failure_lines(failures: Mapping[str, Failure], results: str, asked: int) -> list[str]:
    """Return lines with the number of failed runs, and the errors of the first few."""
    lines = [f"failed: {len(failures)} of {asked} runs; the traceback of each: synthlab show ID results={results}"]
    settings = [flatten(each.config.model_dump()) for each in failures.values()]
    columns = [*find_varying(pd.DataFrame(settings)), "seed"]
    for failure, run in list(zip(failures.values(), settings, strict=True))[:FAILED]:
        words = [f"{name}={to_text(run[name])}" for name in columns if name in run]
        lines.append(f"  {failure.config.id} {' '.join(words)}: {failure.error}")
        if asked == 1 and any(user_classes(failure.config.model_dump())):
            lines += failure.traceback.splitlines()
    if len(failures) > FAILED:
        lines.append(f"  and {len(failures) - FAILED} more")
    return lines
