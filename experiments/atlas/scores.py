"""The atlas' one measure, skill: 1 without any error, 0 with the error of an answer that ignores the input.

Skill is 1 - error / error of that answer. The error is the share of wrong sequences, the root mean squared error of
numbers, or the loss of a language model above that of the Bayes-optimal predictor.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from synthlab.storage.records import Record
from synthlab.studies.intervals import median_interval

TIMES = (1, 2, 3, 5)  # multiples of the training length at which tables show skill
POINTS = 4  # of a curve for each training length: each is over the lengths since the point before
DIGITS = 4  # after the point, in tables
# The error of each length by family, and chance's, from the metrics and the primary metric at chance; and the power
# of the mean error that skill takes.
ERRORS: dict[str, tuple[Callable[[pd.DataFrame, np.ndarray], tuple[pd.Series, pd.Series | np.ndarray]], float]] = {
    "numbers": (lambda metrics, chance: (metrics["mse"], chance), 0.5),
    "sequences": (lambda metrics, chance: (1 - metrics["exact"], 1 - chance), 1.0),
    "language": (lambda metrics, chance: (metrics["loss"] - metrics["perfect"], chance - metrics["perfect"]), 1.0),
}


def score_runs(records: Sequence[Record], fit: float) -> pd.DataFrame:
    """Return a row for each finished run and point of its curve: ``skill`` at ``times`` the training length.

    ``horizon`` is in training lengths too. A run fits if its skill over all training lengths is at least ``fit``.
    """
    scored = [_score(record, fit) for record in records if record.diverged_at is None]
    return pd.concat(scored, ignore_index=True) if scored else pd.DataFrame()


def _score(record: Record, fit: float) -> pd.DataFrame:
    config, metrics, measures = record.config, record.metrics, record.config.measures()
    assert measures.chance is not None  # all tasks are the lab's own
    read, power = ERRORS[config.family]
    error, chance = read(metrics, np.array(measures.chance(config, metrics)))
    errors = pd.DataFrame({"error": error, "chance": chance, "length": metrics["length"] / config.train_length})

    def skill(rows: pd.DataFrame) -> float:
        ratio = rows["error"].mean() / rows["chance"].mean()  # under 0 if a loss happens to be below the best expected
        return round(1 - np.sign(ratio) * abs(ratio) ** power, DIGITS)

    return pd.DataFrame(
        [
            {
                "family": config.family,
                "train_length": config.train_length,
                "seed": config.seed,
                "run": config.id,
                "fit": skill(errors[errors["length"] <= 1]) >= fit,
                "horizon": round((record.horizon or 0) / config.train_length, DIGITS),
                "times": times,
                "skill": skill(rows),
            }
            for times, rows in errors.groupby(np.ceil(errors["length"] * POINTS) / POINTS)
        ]
    )


def summarize(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each task, arm and point: the ``median`` skill over runs with its interval, ``low`` to ``high``.

    ``fit`` counts the runs that fit, of all ``runs`` that were trained, diverged ones included.
    """
    rows = []
    for (task, arm, times), of in runs.groupby(["task", "arm", "times"], sort=False):
        low, high, _ = median_interval(of["skill"].to_numpy())
        counts = {"seeds": len(of), "fit": int(of["fit"].sum()), "runs": int(of["runs"].iloc[0])}
        rows.append(
            {"task": task, "arm": arm, "times": times, "median": of["skill"].median(), "low": low, "high": high}
            | counts
        )
    return pd.DataFrame(rows)
