"""Both papers in the form of studies, which are the files of ``conf/study/chomsky/``."""

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from omegaconf import OmegaConf

from experiments.chomsky import message
from experiments.chomsky.claims import CLAIMS
from experiments.chomsky.scores import by_arm, by_task
from experiments.committed_verdicts import RUNS, read_tables
from experiments.sequences.comparison import format_number
from experiments.sequences.reproduction import Reproduction
from synthlab.studies.report import About
from synthlab.studies.study import Paper, Rows

HERE = Path(__file__).parent
ABOUT = About(
    "The fifteen tasks of the Chomsky hierarchy, in miniature,",
    "Neural Networks and the Chomsky Hierarchy, and of Randomized Positional Encodings Boost Length Generalization",
    "arXiv 2207.02098 and 2305.16843",
    HERE / "deviations.yaml",
    "study chomsky",
)


class Chomsky(Reproduction):
    """The papers' tasks, by accuracy per token; with the maximum, which the papers report, and median and range."""

    numbers = HERE / "published.yaml"
    metric = "tokens"

    def summarize(self, runs, records):
        arms, tasks = by_arm(runs, {key: len(every) for key, every in records.items()}), by_task(runs)
        return {"table": arms, "gain": tasks}, format_arms(arms)


def format_arms(arms: pd.DataFrame) -> pd.DataFrame:
    """Return the table of tasks and arms in words, for readers."""
    fit = [f"{row.fit} of {row.runs}" for row in arms.itertuples()]
    parts = ["within", "median", "least", "greatest"]
    numbers = arms[["task", "level", "arm"]].join(arms[parts].map(format_number))
    return numbers.rename(columns={"arm": "encoding"}).assign(fit=fit)


def results(folder: Path) -> Rows:
    """Return a row for each task: the maxima that the papers report, and the gain over pairs of runs."""
    return [
        {
            "task": row["task"],
            "best, plain": format_number(row["plain_maximum"]),
            "best, randomized": format_number(row["randomized_maximum"]),
            "gain of pairs": f"{row['median_gain']:+.3f} [{row['least_gain']:+.3f}, {row['greatest_gain']:+.3f}]",
        }
        for _, row in by_task(read_tables(folder / RUNS)["tasks"]).iterrows()
    ]


def draw_message(folder: Path) -> Figure | None:
    """Draw the gains, beside the first of the published numbers, their mean over tasks."""
    published: Any = OmegaConf.load(Chomsky.numbers)
    return message.draw(folder, published.numbers[0].value)


PAPER = Paper(
    "chomsky",
    ABOUT,
    Chomsky,
    CLAIMS,
    blocks=lambda folder: {"chomsky_results": results(folder)},
    message=draw_message,
)
