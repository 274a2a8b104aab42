"""The committed run as tables of a page."""

from pathlib import Path

from experiments.chomsky.scores import by_task
from experiments.committed import RUNS, read_tables
from experiments.sequences.page_cells import number
from synthlab.studies.study import Rows


def blocks(folder: Path) -> dict[str, Rows]:
    """Return the rows of the paper's table, by the name of its block, from the files of a reference run."""
    return {"chomsky_results": results(folder)}


def results(folder: Path) -> Rows:
    """A row for each task: the maxima that the papers report, and the gain over pairs of runs."""
    return [
        {
            "task": row["task"],
            "best, plain": number(row["plain_maximum"]),
            "best, randomized": number(row["randomized_maximum"]),
            "gain of the best": f"{row['gain_of_maxima']:+.3f}",
            "gain of pairs": f"{row['median_gain']:+.3f} [{row['least_gain']:+.3f}, {row['greatest_gain']:+.3f}]",
        }
        for _, row in by_task(read_tables(folder / RUNS)["tasks"]).iterrows()
    ]
