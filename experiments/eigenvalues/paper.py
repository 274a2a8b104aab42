"""Grazzi et al. (2025) in the form of studies, which are the files of ``conf/study/eigenvalues/``."""

from pathlib import Path

import pandas as pd

from experiments.eigenvalues import message
from experiments.eigenvalues.claims import CLAIMS
from experiments.eigenvalues.scores import by_arm
from experiments.sequences.comparison import format_number, format_spread
from experiments.sequences.reproduction import Reproduction
from synthlab.studies.report import About
from synthlab.studies.study import Paper, Rows

HERE = Path(__file__).parent
ABOUT = About(
    "Parity and other tasks that track a state, in miniature,",
    "Unlocking State-Tracking in Linear RNNs Through Negative Eigenvalues",
    "arXiv 2411.12537",
    HERE / "deviations.yaml",
    "study eigenvalues",
)


class Eigenvalues(Reproduction):
    """The paper's tasks, under recurrent mixers and Transformers, by scaled accuracy at multiples of the length."""

    numbers = HERE / "published.yaml"

    def summarize(self, runs, records):
        found = by_arm(runs)
        return {"table": found}, format_arms(found)


def format_arms(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of tasks and arms in words, for readers."""
    told = table[["task", "arm"]].assign(
        lengths=table[["first", "last"]].map("{:g}".format).agg(" to ".join, axis="columns")
    )
    for name in ("median", "least", "greatest", "median_fit"):
        told[name] = table[name].map(format_number)
    return told.join(table[["fit", "runs"]])


def results(folder: Path) -> Rows:
    """Return a row for each arm: its scaled accuracy at the greatest lengths, the published one, and runs that fit."""
    runs = message.read_runs(folder)
    if runs is None:
        return []
    found = by_arm(runs)
    published = message.read_published()
    rows: dict[str, dict[str, str]] = {}
    for (task, arm), of_arm in found.groupby(["task", "arm"], sort=False):
        last = of_arm.sort_values("last").iloc[-1]
        told = format_number(published.get((str(task), str(arm)), float("nan")), "-")
        cell = f"{format_spread(last)} ({told}), {last['fit']} of {last['runs']}"
        rows.setdefault(str(arm), {"arm": str(arm)})[str(task).replace("_", " ")] = cell
    return list(rows.values())


PAPER = Paper(
    "eigenvalues",
    ABOUT,
    Eigenvalues,
    CLAIMS,
    blocks=lambda folder: {"eigenvalues_results": results(folder)},
    message=message.draw,
)
