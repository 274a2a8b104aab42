"""Huang et al. (2025) in the form of studies, which are the files of ``conf/study/crasp/``."""

from pathlib import Path

import pandas as pd

from experiments.committed_verdicts import TABLES, read_tables
from experiments.crasp import message
from experiments.crasp.claims import CLAIMS, LEVEL
from experiments.sequences.comparison import format_number
from experiments.sequences.reproduction import Reproduction
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


class Crasp(Reproduction):
    """The paper's tasks.

    A model generalizes if its error rate is below that of the paper's best model that does not.
    """

    numbers = HERE / "published.yaml"
    level = LEVEL


def results(folder: Path) -> Rows:
    """Return a row for each task and encoding.

    It has the expectation of the theory, the published number in the last range of lengths, ours at the same multiples
    of the training length, and ours in the last range of our own.
    """
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
                "published": _format_published(last),
                "at multiples": multiples,
                "here": _spread(last),
                "verdict": last["verdict"],
                "here, 2 to 3 times": "the same" if last["published_range"] == 0 else _spread(ours),
                "fit": f"{last['fit']:g} of {last['runs']:g}",
            }
        )
    return rows


def _format_published(row: pd.Series) -> str:
    """Return the mean over runs that were kept, and over all if it differs."""
    kept, of_all = (format_number(row[name], NONE) for name in ("published", "published_all"))
    return kept if of_all in (NONE, kept) else f"{kept}, of all {of_all}"


def _spread(row: pd.Series) -> str:
    """Return the median over seeds with least and greatest."""
    return f"{format_number(row['median'])} [{format_number(row['least'])}, {format_number(row['greatest'])}]"


PAPER = Paper(
    "crasp", ABOUT, Crasp, CLAIMS, blocks=lambda folder: {"crasp_results": results(folder)}, message=message.draw
)
