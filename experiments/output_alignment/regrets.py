"""A plot of the regret of each rule that selects a map of the target."""

import numpy as np
import pandas as pd

from experiments.output_alignment.choosing import trials_of
from synthlab.analysis.plotting import draw_intervals, name_rows
from synthlab.analysis.series import plain_label
from synthlab.studies.intervals import median_interval
from synthlab.studies.plots import Plot

NAMES = {
    "least shift of targets": "least shift of targets (untrained)",
    "optimum of linear attention": "optimum of linear attention (untrained)",
    "always reciprocal": "always 1/x",
    "always identity": "always the plain target",
    "box_cox": "learned power (Box-Cox)",
    "monotone": "learned chain of powers",
}


class Regrets(Plot):
    """The regret of each rule at five times the training length: a point for each encoding and training length.

    It is the median over seeds with its interval; the plot also shows how often the rule selected the best map.
    """

    measures = "regret, decades"

    def data(self, series, metric):
        rows = []
        for trial in trials_of(record for one in series for record in one.records if record.diverged_at is None):
            choices = trial.choices()
            for rule, values in trial.regrets().items():
                low, high, _ = median_interval(values.to_numpy())
                rows.append(
                    {
                        "series": trial.name,
                        "rule": NAMES.get(str(rule), _rule(str(rule))),
                        "median": values.median(),
                        "low": low,
                        "high": high,
                        "seeds": len(values),
                        "best_map": max(trial.best, key=trial.best.count),
                        "share_best": float((choices[rule] == trial.best).mean()),
                    }
                )
        return pd.DataFrame(rows)

    def settings(self, series):
        trials = trials_of(record for one in series for record in one.records if record.diverged_at is None)
        return {trial.name: {"encoding": trial.encoding, "train_length": trial.train_length} for trial in trials}

    def paint(self, axes, drawn, styles):
        rules, names = (list(dict.fromkeys(drawn[name])) for name in ("rule", "series"))
        for i, name in enumerate(names):
            rows, style = drawn[drawn["series"] == name], styles[name]
            places = np.array([rules.index(rule) for rule in rows["rule"]]) + (i - (len(names) - 1) / 2) * 0.15
            draw_intervals(axes, places, rows["median"], rows["low"], rows["high"], style, width=1.2)
        name_rows(axes, rules)
        axes.axvline(0, color="0.5", lw=0.8)
        axes.set_xlabel("regret (decades)")

    def note(self, drawn):
        best = drawn.drop_duplicates("series").set_index("series")["best_map"]
        maps = ", ".join(f"{plain_label(map)} ({' and '.join(best.index[best == map])})" for map in best.unique())
        return (
            f"best fixed map: {maps if best.nunique() > 1 else plain_label(best.iloc[0])}; "
            "regret: log10 of the error at five times the training length / that of the map that is best on other "
            f"seeds; median over {drawn['seeds'].min()} seeds with its interval"
        )


def _rule(name: str) -> str:
    """Return a rule's name with held-out lengths as a share, which is the same at all training lengths."""
    if not name.startswith("held out"):
        return name
    first, last = (int(word) for word in name.split("scored on ")[1].split(" to "))
    return f"held out: the longest {round(100 * (last - first + 1) / last)} %"
