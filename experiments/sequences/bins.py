"""Exact match by length and in bins of lengths, for series of models of sequence tasks."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from experiments.sequences.published import RANGE
from synthlab.analysis.plotting import Drawing, draw_lines
from synthlab.analysis.tables import band_note, curves
from synthlab.sequences.run import METRICS
from synthlab.storage.records import Record
from synthlab.studies.plots import Series, tabulate_runs
from synthlab.styles import Style

ROUNDING = 1e-6  # tolerance of a multiple of a length above an integer
SHOWN = {"exact": "exact match", "tokens": "accuracy per token"}  # a panel each


class Share(Drawing):
    """A proportion of right answers against length, from 0 to 1; chance is a dotted line in grey."""

    def __init__(self, label: str):
        self.label = label

    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        draw_lines(axes, drawn, "length", styles, every=0.12, scale="linear")
        for _, rows in drawn.groupby("series", sort=False):
            axes.plot(rows["length"], rows["chance"], ":", color="0.6", lw=0.9, zorder=0)
        axes.axvspan(drawn["train_from"].min(), drawn["train_length"].max(), color="0.93", zorder=-1)
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlabel("length")
        axes.set_ylabel(self.label)

    def note(self, drawn: pd.DataFrame) -> str:
        return f"{band_note(drawn)}; trained on the shaded lengths; dotted: chance of an exact match"


def share_by_length(found: Sequence[Series], metric: str) -> pd.DataFrame:
    """Return the data of a panel: ``metric`` by length over the seeds of each series, and chance."""
    runs = tabulate_runs(found)
    drawn = curves(runs, metric, runs["series"])
    chance = curves(runs, "chance", runs["series"])["median"]
    first = runs.groupby("series")["train_from"].min()
    return drawn.assign(chance=chance, train_from=drawn["series"].map(first), metric=METRICS[metric].meaning)


def bins_of(series: Series, fit: float, published: Mapping[int, np.ndarray] | None = None) -> pd.DataFrame:
    """Return a row for each run of a series and range of lengths, the training lengths first.

    Columns say its ``seconds``, whether it ``fit``, the ``step`` at which its training ended, early or not, the model's
    ``width`` and the ``scale`` that a config gives its encoding to begin with, if it does. Further rows, numbered by
    ``published_range``, are means over the lengths of ``published`` ranges.
    """
    rows = []
    for record in series.records:
        if record.diverged_at is not None or record.outputs is None:
            continue
        config = record.config.model_dump()
        ranges = record.outputs.assign(**{RANGE: 0})
        trained = ranges[ranges["first"] == config["train_from"]]
        further = [_mean_over(record, lengths) | {RANGE: number} for number, lengths in (published or {}).items()]
        rows.append(
            pd.concat([ranges, pd.DataFrame(further)], ignore_index=True).assign(
                series=series.label,
                seed=record.config.seed,
                run=record.config.id,
                seconds=round(record.seconds, 2),
                train_length=record.config.train_length,
                fit=bool((trained["exact"] >= fit).any()),
                step=int(record.training["step"].iloc[-1]),
                width=config["model"]["width"],
                scale=config["encoding"].get("scale") or np.nan,
            )
        )
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def _mean_over(record: Record, lengths: np.ndarray) -> dict[str, float]:
    """Return the means over ``lengths``, each rounded up to the next tested length."""
    tested = record.metrics["length"].to_numpy()
    places = np.searchsorted(tested, lengths - ROUNDING).clip(max=len(tested) - 1)
    means = record.metrics[["exact", "tokens", "chance"]].iloc[places].mean()
    ends = {"first": float(tested[places.min()]), "last": float(tested[places.max()])}
    return ends | {str(name): float(value) for name, value in means.items()}


def by_series(table: pd.DataFrame, names: Sequence[str] = ("series",)) -> pd.DataFrame:
    """Return the exact match of each series, identified by the columns ``names``, in each range of lengths.

    It has the median, least and greatest over all finished runs, and the median over those that fit.
    """
    fitting = table.assign(fitting=table["exact"].where(table["fit"]))
    grouped = fitting.groupby([*names, "first", "last"], sort=False)
    summary = grouped.agg(
        median=("exact", "median"),
        least=("exact", "min"),
        greatest=("exact", "max"),
        median_fit=("fitting", "median"),
        runs=("exact", "count"),
        fit=("fit", "sum"),
        tokens=("tokens", "median"),
        chance=("chance", "median"),
        horizon=("horizon", "median"),
    )
    return summary.reset_index()
