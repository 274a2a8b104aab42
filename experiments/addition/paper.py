"""Three papers on addition in the form of studies, which are the files of ``conf/study/addition/``."""

from pathlib import Path

import pandas as pd

from experiments.addition import message
from experiments.addition.claims import CLAIMS, LEVEL
from experiments.committed_verdicts import RUNS, read_tables
from experiments.output_alignment.spread import share_variance
from experiments.sequences.bins import by_series
from experiments.sequences.comparison import format_number, format_spread
from experiments.sequences.reproduction import TaskReproduction
from synthlab.studies.report import About
from synthlab.studies.study import Paper, Rows

HERE = Path(__file__).parent
ABOUT = About(
    "Addition to three times the training length, in miniature,",
    "Position Coupling, of Transformers Can Do Arithmetic with the Right Embeddings, "
    "and of Transformers Can Achieve Length Generalization But Not Robustly",
    "arXiv 2405.20671, 2405.17399 and 2402.09371",
    HERE / "deviations.yaml",
    "study addition",
)
SOURCES = {"weights": [(0,)], "data": [(1,)], "weights x data": [(0, 1)]}


class Addition(TaskReproduction):
    """The papers' methods on decimal addition, and a grid of seeds: an arm for each seed of weights."""

    numbers = HERE / "published.yaml"
    level = LEVEL


def compare_methods(runs: pd.DataFrame) -> Rows:
    """Return a row for each method: exact match, median with least and greatest, in each range of lengths."""
    table, rows = by_series(runs, ("arm",)), []
    for arm, ranges in table.groupby("arm", sort=False):
        row: dict[str, str] = {"method": str(arm), "fit": f"{ranges['fit'].iloc[0]:g} of {ranges['runs'].iloc[0]:g}"}
        for each in ranges.to_dict("records"):
            row[f"{each['first']:g} to {each['last']:g} digits"] = format_spread(each)
        rows.append(row)
    return rows


def share_spread(runs: pd.DataFrame) -> Rows:
    """Return the spread of exact match over a grid of seeds, in each range of lengths, with the shares of sources."""
    rows = []
    for (first, last), of in runs.groupby(["first", "last"], sort=False):
        exact = of.pivot(index="arm", columns="seed", values="exact").to_numpy()
        shares, deviation = share_variance(exact, SOURCES)
        least, median, greatest = (format_number(each) for each in (exact.min(), of["exact"].median(), exact.max()))
        row = {"lengths": f"{first:g} to {last:g}", "least": least, "median": median, "greatest": greatest}
        row["deviation"] = format_number(deviation)
        row |= {name: f"{each.value:.2f} [{each.low:.2f}, {each.high:.2f}]" for name, each in shares.items()}
        rows.append(row)
    return rows


def results(folder: Path) -> dict[str, Rows]:
    """Return the tables of the pages: the methods; and the sources of the spread, if the grid of seeds was trained."""
    runs = read_tables(folder / RUNS)
    spread = {"addition_spread": share_spread(runs["grid"])} if "grid" in runs else {}
    return {"addition_results": compare_methods(runs.get("methods", runs["tasks"]))} | spread


PAPER = Paper("addition", ABOUT, Addition, CLAIMS, blocks=results, message=message.draw)
