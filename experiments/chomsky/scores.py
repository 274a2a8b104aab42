"""The papers' score: accuracy per token, averaged over lengths beyond training; and the effect of taking maxima.

Arms are position encodings. One called ``randomized X`` is the encoding X with randomized positions; the others are
plain.
"""

from collections.abc import Mapping

import pandas as pd

from experiments.sequences.ranks import mean_beyond
from synthlab.studies.evidence import NoEvidence

RANDOMIZED = "randomized "
REGULAR = ("even_pairs", "parity_check", "cycle_navigation", "modular_arithmetic")
CONTEXT_FREE = ("reverse_string", "stack_manipulation", "modular_arithmetic_brackets", "solve_equation")
CONTEXT_SENSITIVE = (
    *("duplicate_string", "missing_duplicate_string", "odds_first", "binary_addition", "binary_multiplication"),
    *("compute_sqrt", "bucket_sort"),
)
LEVELS = {
    **dict.fromkeys(REGULAR, "regular"),
    **dict.fromkeys(CONTEXT_FREE, "deterministic context-free"),
    **dict.fromkeys(CONTEXT_SENSITIVE, "context-sensitive"),
}


def score_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the score of each run: a row for each task and seed, a column for each arm; NaN for a missing run.

    Args:
        runs: A row for each finished run and range of lengths, as ``reproduction`` makes it. Ranges are weighted by
            their number of lengths.

    Raises:
        NoEvidence: No finished run is tested beyond training.
    """
    means = mean_beyond(runs, "tokens", "sequences")
    if means.empty:
        raise NoEvidence("no finished run that is tested beyond training")
    return means.unstack("arm")


def select_plain(table: pd.DataFrame) -> list[str]:
    """Return the arms without randomized positions."""
    return [arm for arm in table.columns if not arm.startswith(RANDOMIZED)]


def find_pairs(table: pd.DataFrame) -> list[str]:
    """Return the encodings that exist both plain and with randomized positions."""
    return [arm for arm in select_plain(table) if RANDOMIZED + arm in table.columns]


def gain(table: pd.DataFrame, arm: str) -> pd.Series:
    """Return by how much randomized positions raise the score of an encoding, for each task and seed."""
    return table[RANDOMIZED + arm] - table[arm]


def best(table: pd.DataFrame, randomized: bool) -> pd.Series:
    """Return, for each task and seed, the maximum over the plain arms or over the ``randomized`` ones.

    It is NaN if one is missing, since a maximum over fewer is smaller.
    """
    arms = [arm for arm in table.columns if arm.startswith(RANDOMIZED) == randomized]
    return table[arms].max(axis="columns", skipna=False)


def by_arm(runs: pd.DataFrame, trained: Mapping[tuple[str, str], int]) -> pd.DataFrame:
    """Return a row for each task and arm, with accuracy, scores and numbers of runs.

    ``within`` is the median accuracy per token on training lengths. ``median``, ``least`` and ``greatest`` are those of
    the score over seeds; the papers report the greatest. ``fit`` counts the runs that fit, of those ``finished`` and of
    those ``trained``.
    """
    table, rows = score_runs(runs), []
    for (task, arm), of_arm in runs.groupby(["task", "arm"], sort=False):
        inside = of_arm.loc[of_arm["last"] <= of_arm["train_length"], "tokens"]
        found = table[str(arm)].xs(task, level="task").dropna()
        spread = {"median": found.median(), "least": found.min(), "greatest": found.max()}
        once = of_arm.drop_duplicates("run")
        counts = {"fit": int(once["fit"].sum()), "finished": len(once), "runs": trained[str(task), str(arm)]}
        told = {"task": task, "level": LEVELS.get(str(task), ""), "arm": arm}
        rows.append({**told, "within": inside.median(), **spread, **counts})
    return pd.DataFrame(rows)


def by_task(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each task, and their mean: maxima over runs, and the gain over pairs of runs.

    The maxima are those over seeds and encodings, without and with randomized positions, with their ``gain_of_maxima``.
    The median, least and greatest gain are over all pairs of runs that differ only by randomized positions. Empty
    without such pairs.
    """
    table, rows = score_runs(runs), []
    if not find_pairs(table):
        return pd.DataFrame()
    sides = select_plain(table), [arm for arm in table.columns if arm.startswith(RANDOMIZED)]
    for task, of_task in table.groupby(level="task", sort=False):
        without, with_them = (pd.concat([of_task[arm] for arm in side]).max() for side in sides)
        paired = pd.concat([gain(of_task, arm) for arm in find_pairs(table)]).dropna()
        maxima = {"plain_maximum": without, "randomized_maximum": with_them, "gain_of_maxima": with_them - without}
        spread = {"median_gain": paired.median(), "least_gain": paired.min(), "greatest_gain": paired.max()}
        rows.append({"task": task, **maxima, **spread})
    found = pd.DataFrame(rows)
    mean = {"task": f"mean over {len(found)}", **found.drop(columns="task").mean()}
    return pd.concat([found, pd.DataFrame([mean])], ignore_index=True)
