"""Huang et al. (2025) in the form of studies, which are the files of ``conf/study/crasp/``."""

from pathlib import Path

import pandas as pd

from experiments.committed_verdicts import TABLES, read_tables
from experiments.crasp import message
from experiments.crasp.claims import CLAIMS, LEVEL, NUMBERS
from experiments.sequences.comparison import format_number, format_spread
from experiments.sequences.reproduction import TaskReproduction
from synthlab.studies.report import About
from synthlab.studies.study import Paper, Rows

NONE = "-"  # not published, or unknown
HERE = Path(__file__).parent
ABOUT = About(
    "The tasks and regular languages, in miniature,",
    "A Formal Framework for Understanding Length Generalization in Transformers",
    "arXiv 2410.02140",
    HERE / "deviations.yaml",
    "study crasp",
)


class Crasp(TaskReproduction):
    """The paper's tasks.

    A model generalizes if its error rate is below that of the paper's best model that does not.
    """

    numbers = NUMBERS
    level = LEVEL


def results(folder: Path) -> Rows:
    """Return a row for each task, with two columns for each encoding.

    These are whether the theory lets it generalize, with the published number, and the lab's, with its verdict unless
    that holds, in the last range of the paper's lengths.
    """
    table = read_tables(folder / TABLES)["tasks_table"]
    names, rows = {"learned": "learned, offsets", "nope": "no positions"}, {}
    for (task, arm), of_arm in table[table["arm"].isin(names)].groupby(["task", "arm"], sort=False):
        last = of_arm.sort_values(["published_range", "last"]).iloc[-1]
        told, theory = names[str(arm)], {True: "yes", False: "no"}.get(last["expected"], NONE)
        rows.setdefault(task, {"task": task}).update(
            {
                f"{told}: theory, published": f"{theory}, {format_number(last['published'], NONE)}",
                f"{told}: here": _spread(last) + ("" if last["verdict"] == "holds" else f" {last['verdict']}"),
            }
        )
    judged = {row["task"] for _, row in table.iterrows() if row["verdict"] in ("undecided", "fails")}
    return [row for task, row in rows.items() if task in judged]


def _spread(row: pd.Series) -> str:
    """Return the median over seeds, with least and greatest if they differ."""
    same = format_number(row["least"]) == format_number(row["greatest"])
    return format_number(row["median"]) if same else format_spread(row)


PAPER = Paper(
    "crasp", ABOUT, Crasp, CLAIMS, blocks=lambda folder: {"crasp_results": results(folder)}, message=message.draw
)
