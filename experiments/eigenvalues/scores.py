"""The paper's score: accuracy scaled such that 0 is chance and 1 is perfect."""

import pandas as pd


def by_arm(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each task, arm and range of lengths, with the scaled accuracy over seeds.

    ``median``, ``least`` and ``greatest`` are over all finished runs, ``median_fit`` over those that fit.

    Args:
        runs: A row for each finished run and range of lengths, as ``reproduction`` makes it.
    """
    scaled = (runs["exact"] - runs["chance"]) / (1 - runs["chance"])
    scored = runs.assign(scaled=scaled, scaled_fit=scaled.where(runs["fit"]))
    grouped = scored.groupby(["task", "arm", "first", "last"], sort=False)
    return grouped.agg(
        median=("scaled", "median"),
        least=("scaled", "min"),
        greatest=("scaled", "max"),
        median_fit=("scaled_fit", "median"),
        fit=("fit", "sum"),
        runs=("run", "count"),
    ).reset_index()
