"""The committed runs of the papers as tables of a page, from the files that ``synthlab figures paper=NAME`` wrote."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

Rows = list[dict[str, Any]]
NONE = "-"  # what was not published


def results(folder: Path) -> dict[str, Rows]:
    """Of each paper whose files ``folder`` has, the rows of its table, by the name of their block."""
    return {f"{name}_results": make(folder) for name, make in TABLES.items() if (folder / f"{name}_table.csv").exists()}


def _crasp(folder: Path) -> Rows:
    """A row for each task and encoding: what the theory expects, what was published in the last range of lengths, ours
    at the same multiples of the training length, and ours in the last range of our own."""
    table = pd.read_csv(folder / "crasp_table.csv")
    names, rows = {"learned": "learned, offsets", "nope": "none"}, []
    for (task, arm), of_arm in table[table["arm"].isin(names)].groupby(["task", "arm"], sort=False):
        of_arm = of_arm.sort_values(["published_range", "last"])
        last, ours = of_arm.iloc[-1], of_arm[of_arm["published_range"] == 0].iloc[-1]
        multiples = f"{(last['first'] - 1) / last['train_length']:.2g} to {last['last'] / last['train_length']:.2g}"
        rows.append(
            {
                "task": task,
                "positions": names[str(arm)],
                "theory": {True: "yes", False: "no"}.get(last["expected"], NONE),
                "published": _published(last),
                "at multiples": multiples,
                "here": _spread(last),
                "verdict": last["verdict"],
                "here, 2 to 3 times": "the same" if last["published_range"] == 0 else _spread(ours),
                "fit": f"{last['fit']:g} of {last['runs']:g}",
            }
        )
    return rows


def _nope(folder: Path) -> Rows:
    """A row for each task: ours in the first range beyond training, with what was published in brackets."""
    table = pd.read_csv(folder / "nope_table.csv")
    rows = []
    for task, of_task in table[table["first"] > table["train_length"]].groupby("task", sort=False):
        near = of_task[of_task["first"] == of_task["first"].min()]
        told = {row["arm"]: f"{_number(row['median'])} ({_number(row['published'])})" for _, row in near.iterrows()}
        rows.append({"task": task, **{arm: told.get(arm, "") for arm in table["arm"].unique()}})
    return rows


def _chomsky(folder: Path) -> Rows:
    """A row for each task: the maxima that the papers report, and the gain over pairs of runs."""
    return [
        {
            "task": row["task"],
            "best, plain": _number(row["plain_maximum"]),
            "best, randomized": _number(row["randomized_maximum"]),
            "gain of the best": f"{row['gain_of_maxima']:+.3f}",
            "gain of pairs": f"{row['median_gain']:+.3f} [{row['least_gain']:+.3f}, {row['greatest_gain']:+.3f}]",
        }
        for _, row in pd.read_csv(folder / "chomsky_gain.csv").iterrows()
    ]


TABLES: Mapping[str, Callable[[Path], Rows]] = {"crasp": _crasp, "nope": _nope, "chomsky": _chomsky}


def _published(row: pd.Series) -> str:
    """The mean over runs that were kept, and over all where that is another."""
    of_all = _number(row["published_all"])
    return _number(row["published"]) + (f", of all {of_all}" if of_all not in (NONE, _number(row["published"])) else "")


def _number(value: float) -> str:
    return NONE if pd.isna(value) else f"{value:.3f}"


def _spread(row: pd.Series) -> str:
    return f"{_number(row['median'])} [{_number(row['least'])}, {_number(row['greatest'])}]"
