"""Both papers in the form of studies, which are the files of ``conf/study/softmax/``."""

from pathlib import Path

import pandas as pd

from experiments.committed_verdicts import RUNS, read_tables
from experiments.sequences.comparison import format_number
from experiments.sequences.reproduction import Reproduction
from experiments.softmax import message
from experiments.softmax.attention import measure_attention
from experiments.softmax.claims import CLAIMS
from synthlab.studies.report import About
from synthlab.studies.study import Paper, Rows

HERE = Path(__file__).parent
ABOUT = About(
    "Retrieval of one item of many, in miniature,",
    "Softmax is not Enough (for Sharp Size Generalisation), and of Scalable-Softmax Is Superior for Attention",
    "arXiv 2410.01104 and 2501.19399",
    HERE / "deviations.yaml",
    "study softmax",
)


class SoftmaxByLength(Reproduction):
    """Retrieval under softmax and other attention weights; each range of lengths has the weights at its last length."""

    numbers = HERE / "published.yaml"

    def _runs(self, key, cells, records):
        found = super()._runs(key, cells, records)
        if found.empty:
            return found
        parts = [
            measure_attention(records[str(run)], sorted(rows["last"].astype(int))).assign(run=run)
            for run, rows in found.groupby("run")
        ]
        return found.merge(pd.concat(parts), on=["run", "last"])

    def summarize(self, runs, records):
        rows = take_medians(runs)
        return {"table": rows}, rows


def take_medians(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each task, arm and range of lengths: medians over seeds, and how many runs fit, as texts."""
    grouped = runs.groupby(["task", "arm", "last"], sort=False)
    medians = grouped[["exact", "weight", "ranked", "bound"]].median().map(format_number)
    return medians.assign(fit=grouped["fit"].agg(lambda fit: f"{fit.sum()} of {len(fit)}")).reset_index()


def results(folder: Path) -> Rows:
    """Return a row for each task and arm: at the training length and at eight times that, weight and right answers."""
    table = take_medians(read_tables(folder / RUNS)["tasks"])
    near, far = (
        table[table["last"] == end].set_index(["task", "arm"]) for end in (table["last"].min(), table["last"].max())
    )
    return [
        {
            "asked for": task,
            "weights": arm,
            "weight at 16": row["weight"],
            "at 128": far["weight"][task, arm],
            "right, to 16": row["exact"],
            "65 to 128": far["exact"][task, arm],
            "ranked first at 128": far["ranked"][task, arm],
            "fit": row["fit"],
        }
        for (task, arm), row in near.iterrows()
    ]


PAPER = Paper(
    "softmax",
    ABOUT,
    SoftmaxByLength,
    CLAIMS,
    blocks=lambda folder: {"softmax_results": results(folder)},
    message=message.draw,
)
