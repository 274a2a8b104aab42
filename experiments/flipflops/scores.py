"""How many runs generalize to flip-flops of other densities and lengths. Arms are encodings, and an LSTM."""

import pandas as pd

from synthlab.sequences.evaluation import wilson

LEVEL = 0.99  # share of right answers from which a run fits, and generalizes
TRAINED = "longer"  # the test with the density of training
KEYS = ["arm", "seed"]


def fit_in_training(runs: pd.DataFrame) -> pd.DataFrame:
    """Return ``runs`` with the ``fit`` that each model has on the density of training, whatever it is tested on.

    Runs of one arm and seed are one model: they differ in their tests alone.
    """
    trained = runs[runs["task"] == TRAINED].drop_duplicates(KEYS).set_index(KEYS)["fit"]
    fit = trained.reindex(pd.MultiIndex.from_frame(runs[KEYS])).to_numpy()
    return runs.assign(fit=pd.Series(fit, runs.index).fillna(False).astype(bool))


def least_right(runs: pd.DataFrame, times: float, tests: tuple[str, ...] = ("sparse", "dense")) -> pd.DataFrame:
    """Return each model's least share of right answers over ``tests``: a row for each arm and seed, with ``fit``.

    ``times`` bounds the lengths, as a multiple of the training lengths.
    """
    near = runs[runs["task"].isin(tests) & (runs["last"] <= times * runs["train_length"])]
    return near.groupby(KEYS, sort=False).agg(exact=("exact", "min"), fit=("fit", "first")).reset_index()


def by_arm(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each arm, test and range of lengths: the error, and the share of models that generalize.

    ``generalize`` of ``fit`` models get at least ``LEVEL`` right; ``low`` and ``high`` are the 95 % interval of the
    share (Wilson). Errors are of all models.
    """
    rows = []
    for (task, arm, first, last), of in runs.groupby(["task", "arm", "first", "last"], sort=False):
        right, fit = int((of["exact"][of["fit"]] >= LEVEL).sum()), int(of["fit"].sum())
        interval = wilson(right / fit, fit)[1:] if fit else (float("nan"),) * 2
        wrong = 1 - of["exact"]
        spread = {"median": wrong.median(), "least": wrong.min(), "greatest": wrong.max()}
        counts = {"generalize": right, "fit": fit, "models": len(of), "low": interval[0], "high": interval[1]}
        rows.append({"task": task, "arm": arm, "first": first, "last": last, **spread, **counts})
    return pd.DataFrame(rows)
