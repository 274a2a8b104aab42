"""The atlas as a page: a table with a cell for each arm and task, which opens the curve; with filters."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.atlas.scores import TIMES, summarize
from experiments.committed_verdicts import RUNS, read_tables, write_tables
from synthlab.analysis.series import plain_label
from synthlab.errors import InputError
from synthlab.studies.intervals import median_interval
from synthlab.studies.pages import template

COMMITTED = Path(__file__).with_name(RUNS)
HORIZON = "horizon"
KINDS = ("encoding", "mixer", "map")  # of rows, in the order of the page
LABELS = {"gru": "GRU", "lstm": "LSTM", "delta": "DeltaNet"}  # of mixers, which carry none


def make_page(tables: Mapping[str, pd.DataFrame]) -> str:
    """Return the page of the tables ``runs`` of studies, beside the rows of the committed tables.

    Those are left out if settings were changed for these runs, since they could not be compared.
    """
    own = pd.concat(tables.values(), ignore_index=True).assign(here=True) if tables else pd.DataFrame()
    overrides = next(filter(None, own["overrides"].unique()), "") if len(own) else ""
    known = pd.concat([pd.DataFrame(), *read_tables(COMMITTED).values()]).assign(here=False)
    if own.empty and known.empty:
        raise InputError("atlas: no row is recorded; synthlab study atlas trains all, synthlab atlas ROW one")
    runs = own if overrides else replace_cells(known, own)
    runs = runs.sort_values("kind", key=lambda kinds: kinds.map(KINDS.index), kind="stable")
    runs = runs.sort_values("here", ascending=False, kind="stable")
    curves = dict(iter(summarize(runs).groupby(["task", "arm"], sort=False)))
    return template("experiments.atlas", "atlas.html.j2", markup=True).render(
        cells=[_cell(of, curves[key]) for key, of in runs.groupby(["task", "arm"], sort=False)],
        times=TIMES,
        overrides=overrides,
        runs=runs["run"].nunique(),
        seeds=" or ".join(map(str, sorted(runs["runs"].astype(int).unique()))),
    )


def label_row(arm: str) -> str:
    """Return what readers call a row: its words, the lab's encodings and mixers among them by their labels."""
    return " ".join(LABELS.get(word) or plain_label(word) for word in arm.split())


def replace_cells(known: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of ``own``, and those ``known`` of other cells; a cell is a task and an arm."""
    runs = pd.concat([own.assign(first=True), known.assign(first=False)], ignore_index=True)
    return runs[runs["first"] == runs.groupby(["task", "arm"])["first"].transform("any")].drop(columns="first")


def keep_cells(tables: Mapping[str, pd.DataFrame]) -> None:
    """Add the tables ``runs`` of studies to the committed ones, in place of the runs of the same cells there."""
    known = read_tables(COMMITTED)
    for name, own in tables.items():
        before = known.get(name, own[:0])
        order = [*dict.fromkeys([*before["arm"], *own["arm"]])]  # new rows come last
        known[name] = replace_cells(before, own).sort_values(
            "arm", key=lambda arms: arms.map(order.index), kind="stable"
        )
    write_tables(COMMITTED, known)


def _cell(runs: pd.DataFrame, curve: pd.DataFrame) -> dict[str, Any]:
    """Return the numbers of a task and arm as JSON has them: medians over runs, and the intervals of these."""
    first, once = runs.iloc[0], runs.drop_duplicates("run")
    low, high, _ = median_interval(once[HORIZON].to_numpy())
    horizon = [float(value) for value in (once[HORIZON].median(), low, high)]
    points = curve.sort_values("times")[["times", "median", "low", "high"]].round(3)
    return {
        "arm": str(first["arm"]),
        "label": label_row(str(first["arm"])),
        **{key: str(first[key]) for key in ("task", "family", "kind", "command")},
        "here": bool(first["here"]),
        "length": int(first["train_length"]),
        "fit": int(once["fit"].sum()),
        "runs": int(first["runs"]),
        "seeds": len(once),
        "horizon": np.round(horizon, 2).tolist(),
        "curve": points.to_numpy().tolist(),
    }
