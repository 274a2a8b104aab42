"""Kazemnejad et al. (2023) in the form of studies, which are the files of ``conf/study/nope/``."""

from pathlib import Path

from experiments.committed_verdicts import TABLES, read_tables
from experiments.nope import message
from experiments.nope.claims import CLAIMS, LEVEL
from experiments.sequences.comparison import format_number
from experiments.sequences.published import read_published
from experiments.sequences.ranking_reproduction import Ranked
from synthlab.studies.report import About
from synthlab.studies.study import Paper, Rows

HERE = Path(__file__).parent
ABOUT = About(
    "Copying, reversing and small arithmetic, in miniature,",
    "The Impact of Positional Encoding on Length Generalization in Transformers",
    "arXiv 2305.19466",
    HERE / "deviations.yaml",
    "study nope",
)


class Nope(Ranked):
    """The paper's tasks. A model generalizes to a range of lengths if it gets more than half of the answers right."""

    numbers = HERE / "published.yaml"
    level = LEVEL


def results(folder: Path) -> Rows:
    """Return a row for each task with published numbers, in brackets: ours in the first range beyond training."""
    table = read_tables(folder / TABLES)["tasks_table"].dropna(subset="published")
    pairs = zip(table["median"], table["published"], strict=True)
    shown = [f"{format_number(ours)} ({format_number(theirs)})" for ours, theirs in pairs]
    table, rows = table.assign(shown=shown), []
    for task, of_task in table[table["first"] > table["train_length"]].groupby("task", sort=False):
        near = of_task[of_task["first"] == of_task["first"].min()]
        rows.append({"task": task, **near.set_index("arm")["shown"]})
    return rows


PAPER = Paper(
    "nope",
    ABOUT,
    Nope,
    CLAIMS,
    blocks=lambda folder: {"nope_results": results(folder)},
    message=lambda folder: message.draw(folder, read_published(Nope.numbers)),
)
