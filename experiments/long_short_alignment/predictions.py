"""Studies of what predicts a model's loss or error on longer texts: correlations over models, and their power."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from experiments.long_short_alignment.analyses import Analysis, Names, check_quantities
from experiments.long_short_alignment.correlations import (
    WITNESSES,
    Correlation,
    correlation,
    lead,
    pearson,
    spearman,
    without_one,
)
from experiments.long_short_alignment.drawings import Scatter
from experiments.long_short_alignment.power import NUMBERS, OFTEN, Lead, Measured, found, needed, smallest
from experiments.long_short_alignment.run_table import (
    FURTHER,
    MISALIGNMENTS,
    QUANTITIES,
    SCALAR_QUANTITIES,
    scalar_table,
)
from experiments.long_short_alignment.scalar import ScalarConfig
from synthlab.studies.figure_files import Drawn

HOW = {how.__name__: how for how in (pearson, spearman)}


class Correlations(Analysis):
    """What predicts each of ``outcomes`` over all models, the last of ``predictors`` being what the others are held
    against? A panel for each of ``predictors`` and the first outcome. ``worth`` is the smallest lead over the last
    predictor that is worth detecting."""

    def __init__(self, outcomes: Names, predictors: Names, worth: Lead):
        check_quantities("outcomes", outcomes)
        check_quantities("predictors", predictors)
        self.outcomes, self.predictors, self.worth = outcomes, predictors, worth

    def panels(self, runs, records):
        outcome = self.outcomes[0]
        drawn = runs.assign(series=runs["variant"].str.partition(",")[0])
        columns = ["series", "variant", "group", "seed", outcome]
        return {
            name: Drawn(
                QUANTITIES[name],
                Scatter(name, outcome, QUANTITIES),
                drawn[[*columns, name]].reset_index(drop=True),
            )
            for name in self.predictors
        }

    def tables(self, runs, records):
        predictors = [
            name
            for name in dict.fromkeys([*self.predictors, *MISALIGNMENTS])
            if name in runs and np.isfinite(runs[name]).all()
        ]
        pairs = [(name, outcome) for outcome in self.outcomes for name in predictors if name != outcome]
        table = correlations(runs, pairs, tuple(WITNESSES))
        without, leads = [], []
        for x, y, kind, of in zip(*(table[name] for name in ("predictor", "outcome", "kind", "of")), strict=True):
            how = HOW[kind]
            without.append(without_one(runs, x, y, "encoding", how))
            leads.append(lead(runs, x, self.predictors[-1], y, WITNESSES[of], how))
        table[["least_without_one", "greatest_without_one"]] = without
        table[["lead", "lead_low", "lead_high"]] = leads
        return {"correlations": table, "power": self.power(runs)}

    def power(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Of each predictor but the last: how often as many independent witnesses as there are find a lead of
        ``worth`` for the first outcome, the smallest lead that they find often, and how many it takes to find that
        of ``worth`` often."""
        *others, last = self.predictors
        rows = []
        for x, (of, witness) in product(others, WITNESSES.items()):
            number, measured = runs[witness].nunique(), Measured.among(runs, x, last, self.outcomes[0], witness)
            rows.append(
                {"predictor": x, "over": last, "outcome": self.outcomes[0], "number": number, "of": of}
                | {"lead": self.worth, "found": found(measured, self.worth, number)}
                | {"smallest": smallest(measured, number), "needed": needed(measured, self.worth)}
            )
        return pd.DataFrame(rows)

    def lines(self, tables):
        rows = tables["correlations"]
        told = rows[rows["predictor"].isin(self.predictors)]
        power = tables["power"].itertuples()
        return [*(_correlation_line(row) for row in told.itertuples()), *(_power_line(row) for row in power)]


class Scalar(Analysis):
    """The same for numbers: does misalignment predict the error at five times the training length, over all tasks, in
    each, and among the models of one task and map?"""

    kind = ScalarConfig
    reach = FURTHER
    # What is drawn against what: the models', the targets' own, that of suffixes, and among models alike.
    drawn = (
        ("wasserstein_scaled", "error_5x"),
        ("targets_scaled", "error_5x"),
        ("suffix_scaled", "error_5x"),
        ("wasserstein_within", "error_within"),
    )

    def runs(self, records, names):
        return scalar_table(records)

    def panels(self, runs, records):
        rows = runs.assign(series=runs["task"])
        return {
            x: Drawn(SCALAR_QUANTITIES[x], Scatter(x, y, SCALAR_QUANTITIES), rows[["series", "group", "seed", x, y]])
            for x, y in self.drawn
        }

    def tables(self, runs, records):
        tasks = {"all": runs} | dict(list(runs.groupby("task", sort=False)))
        pairs = (*self.drawn, ("wasserstein", "error_5x"), ("suffix", "error_5x"))
        parts = [correlations(rows, pairs) for rows in tasks.values()]
        return {"correlations": pd.concat(parts, keys=tasks, names=["task", None]).reset_index("task")}

    def lines(self, tables):
        rows = tables["correlations"]
        return [f"{row.task}: {_correlation_line(row)}" for row in rows[rows["kind"] == "spearman"].itertuples()]


def correlations(
    rows: pd.DataFrame, pairs: Iterable[tuple[str, str]], witnesses: Sequence[str] = ("settings",)
) -> pd.DataFrame:
    """Pearson's and Spearman's of each predictor and outcome, with an interval for each of ``witnesses``."""
    return pd.DataFrame(
        {"predictor": x, "outcome": y, "kind": how.__name__}
        | correlation(rows, x, y, WITNESSES[of], how)._asdict()
        | {"models": len(rows), "number": rows[WITNESSES[of]].nunique(), "of": of}
        for x, y in pairs
        for how in HOW.values()
        for of in witnesses
    )


def _correlation_line(row: Any) -> str:
    between = f"{row.predictor} and {row.outcome}: {row.kind}"
    return f"{between} {Correlation(row.value, row.low, row.high)}, {row.models} models, {row.number} {row.of}"


def _power_line(row: Any) -> str:
    often = f"{100 * OFTEN:.0f} times of 100"
    smallest = f"one of {row.smallest:g}" if np.isfinite(row.smallest) else "none"
    needed = f"{row.needed:g}" if np.isfinite(row.needed) else f"more than {max(NUMBERS)}, if any,"
    return (
        f"power: {row.number} {row.of} find a lead of {row.predictor} over {row.over} of {row.lead:g} "
        f"{100 * row.found:.0f} times of 100, and {often} they find {smallest}; "
        f"{needed} find one of {row.lead:g} {often}"
    )
