"""Studies of which quantity within the training length predicts which one beyond it."""

from typing import Any

import pandas as pd

from experiments.correlations import COVERAGE, WITNESSES, Correlation, correlation, lead
from experiments.long_short_alignment.drawings import Cells, limit_to_draw
from experiments.long_short_alignment.predictions import Correlations
from experiments.long_short_alignment.run_table import SHORT, WITHIN
from synthlab.analysis.plotting import DataPanel

AMONG = {WITHIN: "models of one setting", "": "all models"}


class Predictors(Correlations):
    """``Correlations``, and a table of each of ``predictors`` and ``outcomes``, plotted as two maps.

    The maps are Pearson's correlations, and the leads of the others over the last predictor; among models of one
    setting, and over all.
    """

    def panels(self, runs, records):
        table, last = self._leads(runs), self.predictors[-1]
        others = table[table["predictor"] != last]
        drawings = {
            "correlation_map": ("correlation", table, Cells("value", ("low", "high"), _note(runs))),
            "lead_map": (
                f"lead over {SHORT.get(last, last)}",
                others,
                Cells("lead", ("lead_low", "lead_high"), _note(runs)),
            ),
        }
        return {
            name + kind: DataPanel(f"{title}, {among}", drawing, rows[rows["among"] == among].reset_index(drop=True))
            for kind, among in AMONG.items()
            for name, (title, rows, drawing) in drawings.items()
            if len(rows)
        }

    def tables(self, runs, records):
        return super().tables(runs, records) | {"leads": self._leads(runs)}

    def _leads(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return a row for each pair: Pearson's correlation and its lead over the last predictor, with intervals.

        Intervals are over settings. ``answer`` is ``leads``, ``trails`` or undecided.
        """
        pairs = [(x, y) for y in self.outcomes for x in self.predictors if x != y]
        return pd.DataFrame(
            {"among": among, "predictor": x, "outcome": y} | self._compare(runs, x + kind, y + kind, kind)
            for kind, among in AMONG.items()
            for x, y in pairs
        )

    def _compare(self, runs: pd.DataFrame, x: str, y: str, kind: str) -> dict[str, Any]:
        by, last = WITNESSES["settings"], self.predictors[-1] + kind
        found, led = correlation(runs, x, y, by), lead(runs, x, last, y, by)
        leads = {"lead": led.value, "lead_low": led.low, "lead_high": led.high}
        counts = {"models": len(runs), "number": runs[by].nunique(), "of": "settings"}
        return found._asdict() | leads | {"answer": "" if x == last else judge_lead(led)} | counts


def judge_lead(led: Correlation) -> str:
    """Return whether the first of two predictors ``leads`` or ``trails``, by the interval of its lead."""
    if not led.low <= led.high:
        return "not known"
    return "leads" if led.low > 0 else "trails" if led.high < 0 else "undecided"


def _note(runs: pd.DataFrame) -> str:
    return (
        f"Pearson's r over {len(runs)} models; {100 * COVERAGE:.0f} % intervals by the jackknife over "
        f"{runs[WITNESSES['settings']].nunique()} settings{limit_to_draw(runs)}; bold: the interval leaves out 0"
    )
