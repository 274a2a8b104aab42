"""The table of a reproduced paper: published, ours, the range over seeds, runs that fit of all runs, verdict."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from experiments.sequences.bins import by_series
from experiments.sequences.checks import errs
from experiments.sequences.published import OURS, RANGE, Published, join_published
from synthlab.storage.records import Record


def compare_published(
    runs: pd.DataFrame, records: Mapping[tuple[str, str], Sequence[Record]], numbers: Published, level: float
) -> pd.DataFrame:
    """Return a row for each task, arm and range of lengths.

    The verdict is that of a check over seeds: whether ours lies on the published side of ``level``, the error rate that
    separates models that generalize from others. The table has medians over all finished runs (``median``) and over
    those that fit (``median_fit``), and the published means over runs that were kept (``published``) and over all
    (``published_all``).

    Args:
        runs: A row for each finished run and range of lengths.
        records: All runs of each task and arm.
        numbers: The numbers that the paper published.
        level: An error rate.
    """
    every = {key: len(found) for key, found in records.items()}
    models = {key: _model(found[0]) for key, found in records.items()}
    ours = by_series(runs, ("task", "arm", RANGE)).rename(columns={"runs": "finished"})
    of = list(zip(ours["task"], ours["arm"], strict=True))
    ours = ours.assign(runs=[every[key] for key in of], model=[models[key] for key in of])
    trained = runs.drop_duplicates(["task", "arm"]).set_index(["task", "arm"])["train_length"]
    ours["train_length"] = [trained[key] for key in of]
    found, rows = join_published(ours, numbers), dict(iter(runs.groupby(OURS, sort=False)))
    about = found[OURS].itertuples(index=False, name=None)
    return found.assign(
        verdict=[_verdict(rows[key], mean, level) for key, mean in zip(about, found["published"], strict=True)]
    )


def _verdict(rows: pd.DataFrame, mean: float, level: float) -> str:
    return "" if pd.isna(mean) else errs(rows, "", level, generalizing=1 - mean < level).answer


def _model(record: Record) -> str:
    """Return the size of a model and the length of its training, in words."""
    model, protocol = record.config.model, record.config.protocol
    return f"{model['depth']}l {model['heads']}h {model['width']}, {protocol.steps} steps of {protocol.batch}"


def format_comparison(found: pd.DataFrame) -> pd.DataFrame:
    """Return the table in words, for readers; expectations of the paper's theory are given only where it has one."""
    rows = []
    for row in found.to_dict("records"):
        theirs = not pd.isna(row["published"])
        counted = theirs and not pd.isna(row["kept"])
        rows.append(
            {
                "task": row["task"],
                "encoding": row["arm"],
                "expected": {True: "yes", False: "no"}.get(row["expected"], ""),
                "published": format_number(row["published"]),
                "of all": format_number(row["published_all"]),
                "kept": f"{row['kept']:g} of {row['trained']:g}" if counted else "",
                "at": row["published_lengths"] if theirs else "",
                "theirs": row["published_model"] if theirs else "",
                "ours": format_number(row["median"]),
                "range": f"{format_number(row['least'])} to {format_number(row['greatest'])}",
                "of fitting": format_number(row["median_fit"]),
                "fit": f"{row['fit']:g} of {row['runs']:g}",
                "lengths": f"{row['first']:g} to {row['last']:g}",
                "model": row["model"],
                "verdict": row["verdict"],
            }
        )
    told = pd.DataFrame(rows)
    return told if told["expected"].ne("").any() else told.drop(columns="expected")


def format_number(value: float, missing: str = "") -> str:
    """Return a number with three decimals, or the text for one that is ``missing``."""
    return missing if pd.isna(value) else f"{value:.3f}"


def format_spread(row: pd.Series | Mapping[Any, Any]) -> str:
    """Return a median over seeds, with the least and the greatest in brackets."""
    median, least, greatest = (format_number(row[name]) for name in ("median", "least", "greatest"))
    return f"{median} [{least}, {greatest}]"
