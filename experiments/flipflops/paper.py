"""Flip-flops of several densities, in the form of studies, which are the files of ``conf/study/flipflops/``."""

from pathlib import Path

import pandas as pd

from experiments.flipflops import message
from experiments.flipflops.claims import CLAIMS
from experiments.flipflops.scores import by_arm, fit_in_training
from experiments.sequences.comparison import format_number
from experiments.sequences.reproduction import Reproduction, join_tables
from synthlab.studies.report import About
from synthlab.studies.study import Paper, Rows

HERE = Path(__file__).parent
ABOUT = About(
    "Flip-flops of several densities, in miniature,",
    "TRA: Better Length Generalisation with Threshold Relative Attention, and of Forgetting Transformer",
    "arXiv 2503.23174 and 2503.02130",
    HERE / "deviations.yaml",
    "study flipflops",
)


class FlipFlops(Reproduction):
    """Models that learn flip-flops of one density, tested on others and on longer ones: a task for each test."""

    numbers = HERE / "published.yaml"

    def evidence(self, plan, records):
        found = super().evidence(plan, records)
        runs = fit_in_training(join_tables(list(found.values())))
        return {key: runs[runs["task"] == key] for key in found}

    def summarize(self, runs, records):
        found = by_arm(runs)
        return {"table": found}, format_arms(found)


def format_arms(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of tests and arms in words, for readers."""
    spans = table[["first", "last"]].map("{:g}".format).agg(" to ".join, axis="columns")
    told = table[["task", "arm"]].assign(lengths=spans)
    for name in ("median", "least", "greatest", "low", "high"):
        told[name] = table[name].map(format_number)
    told = told.join(table[["generalize", "fit", "models"]])
    return told.rename(columns={"task": "test"})


def results(folder: Path) -> Rows:
    """Return a row for each arm: how many of the models that fit generalize to each test, with the interval."""
    runs = message.read_runs(folder)
    found, rows = by_arm(runs) if runs is not None else pd.DataFrame(columns=["task", "arm"]), {}
    for (task, arm), of in found.groupby(["task", "arm"], sort=False):
        row = rows.setdefault(str(arm), {"arm": str(arm), "fit": f"{of['fit'].iloc[0]} of {of['models'].iloc[0]}"})
        worst = of.sort_values("generalize").iloc[0]
        interval = f" [{worst['low']:.2f}, {worst['high']:.2f}]" if worst["fit"] else ""
        row[str(task)] = f"{worst['generalize']} of {worst['fit']}{interval}"
    return list(rows.values())


PAPER = Paper(
    "flipflops",
    ABOUT,
    FlipFlops,
    CLAIMS,
    blocks=lambda folder: {"flipflops_results": results(folder)},
    message=message.draw,
)
