"""Arms of a study: the measurements of each run, and their differences from the baseline arm."""

from collections.abc import Sequence

import pandas as pd

from synthlab.storage.records import Record
from synthlab.studies.evidence import NoEvidence

BIN = 8  # number of context lengths that share a point of a curve: single ones differ by the noise of the test texts


def baseline(runs: pd.DataFrame) -> str:
    """Return the baseline arm. Raises NoEvidence if none of its runs is finished."""
    arms = runs.loc[runs["baseline"], "arm"]
    if arms.empty:
        raise NoEvidence("no finished run of the arm that the others are held against")
    return arms.iloc[0]


def differences(runs: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Return each run's ``quantity`` less that of the baseline's run of the same variant and seed.

    Runs without such a baseline run are left out. Raises NoEvidence if there is no finished baseline run.
    """
    keys = ["variant", "seed"]
    compared = runs.filter(["arm", *keys, quantity, "fit"]).assign(series=runs["variant"])
    return less_baseline(compared, keys, quantity, baseline(runs))


def less_baseline(rows: pd.DataFrame, keys: list[str], quantity: str, first: str) -> pd.DataFrame:
    """Return ``rows`` with ``quantity`` less that of the arm ``first`` with equal ``keys``, if there is one.

    If the rows have a column ``fit``, a difference fits if both runs do.
    """
    base = rows[rows["arm"] == first].set_index(keys).reindex(pd.MultiIndex.from_frame(rows[keys]))
    changed = {quantity: rows[quantity].to_numpy() - base[quantity].to_numpy()}
    if "fit" in rows:
        changed["fit"] = rows["fit"].to_numpy() & base["fit"].eq(True).to_numpy()
    return rows.assign(**changed).dropna(subset=[quantity])


def bin_by_tokens(runs: pd.DataFrame, records: Sequence[Record]) -> pd.DataFrame:
    """Return the loss of each run by the number of tokens seen, with ``BIN`` of them in a row."""
    by_id, parts = {record.config.id: record for record in records}, []
    names = [name for name in ("arm", "variant", "seed", "train_length", "fit") if name in runs]
    for row in runs.itertuples():
        losses = by_id[str(row.id)].metrics
        means = losses.groupby((losses["length"] - 1) // BIN).agg(length=("length", "mean"), loss=("loss", "mean"))
        parts.append(means.assign(**{name: getattr(row, name) for name in names}))
    return pd.concat(parts, ignore_index=True)


def by_depth(runs: pd.DataFrame) -> pd.DataFrame:
    """Return proportions of right answers: a row for each run, text length and depth."""
    columns = [column.split("@") for column in runs.columns if column.startswith("accuracy@")]
    return pd.concat(
        [
            runs.filter(["arm", "baseline", "variant", "seed", "train_length", "fit"]).assign(
                length=int(length),
                depth=float(depth),
                accuracy=runs[f"accuracy@{length}@{depth}"],
                answer_loss=runs[f"answer_loss@{length}@{depth}"],
            )
            for _, length, depth in columns
        ],
        ignore_index=True,
    )
