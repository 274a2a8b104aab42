"""The committed run as tables of a page."""

from pathlib import Path

from experiments.committed import TABLES, read_tables
from experiments.sequences.page_cells import number
from synthlab.studies.study import Rows


def blocks(folder: Path) -> dict[str, Rows]:
    """Return the rows of the paper's table, by the name of its block, from the files of a reference run."""
    return {"nope_results": results(folder)}


def results(folder: Path) -> Rows:
    """A row for each task: ours in the first range beyond training, with what was published in brackets."""
    table = read_tables(folder / TABLES)["tasks_table"]
    rows = []
    for task, of_task in table[table["first"] > table["train_length"]].groupby("task", sort=False):
        near = of_task[of_task["first"] == of_task["first"].min()]
        told = {row["arm"]: f"{number(row['median'])} ({number(row['published'])})" for _, row in near.iterrows()}
        rows.append({"task": task, **{arm: told.get(arm, "") for arm in table["arm"].unique()}})
    return rows
