"""The committed run as tables of a page."""

from pathlib import Path

import pandas as pd

from experiments.committed import TABLES, read_tables
from experiments.sequences.page_cells import NONE, number, spread
from synthlab.studies.study import Rows


def blocks(folder: Path) -> dict[str, Rows]:
    """Return the rows of the paper's table, by the name of its block, from the files of a reference run."""
    return {"crasp_results": results(folder)}


def results(folder: Path) -> Rows:
    """A row for each task and encoding: what the theory expects, what was published in the last range of lengths, ours
    at the same multiples of the training length, and ours in the last range of our own."""
    table = read_tables(folder / TABLES)["tasks_table"]
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
                "here": spread(last),
                "verdict": last["verdict"],
                "here, 2 to 3 times": "the same" if last["published_range"] == 0 else spread(ours),
                "fit": f"{last['fit']:g} of {last['runs']:g}",
            }
        )
    return rows


def _published(row: pd.Series) -> str:
    """The mean over runs that were kept, and over all where that is another."""
    of_all = number(row["published_all"])
    return number(row["published"]) + (f", of all {of_all}" if of_all not in (NONE, number(row["published"])) else "")
