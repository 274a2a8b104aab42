"""Suites: a grid of models of tasks whose answers are tokens; exact match by length, and in bins of lengths."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from pydantic import Field

from experiments.sequences.published import RANGE
from synthlab.analysis.curves import band_note, draw_lines
from synthlab.analysis.tables import curves
from synthlab.config.base import Config
from synthlab.errors import RunsFailed
from synthlab.sequences.config import SequencesConfig
from synthlab.sequences.measures import METRICS
from synthlab.storage.records import Record
from synthlab.studies.evidence import Fitting
from synthlab.studies.fitting import left_out
from synthlab.studies.grids import Grid
from synthlab.studies.presentation.drawing import Drawing, Series, runs_of
from synthlab.studies.presentation.figure_files import Drawn
from synthlab.studies.seeds import Seeds
from synthlab.studies.study import Plan, Results, Study

NAMES = ("task", "encoding")
ROUNDING = 1e-6  # what a multiple of a length may be above a whole number
SHOWN = {"exact": "exact match", "tokens": "accuracy per token"}  # a panel each


class Share(Drawing):
    """A share of right answers against length, from 0 to 1; chance is a dotted line in grey."""

    def __init__(self, label: str):
        self.label = label

    def draw(self, axes: Axes, drawn: pd.DataFrame) -> None:
        draw_lines(axes, drawn, "length", every=0.12)
        for _, rows in drawn.groupby("series", sort=False):
            axes.plot(rows["length"], rows["chance"], ":", color="0.6", lw=0.9, zorder=0)
        axes.axvspan(drawn["train_from"].min(), drawn["train_length"].max(), color="0.93", zorder=-1)
        axes.set_yscale("linear")
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlabel("length")
        axes.set_ylabel(self.label)

    def note(self, drawn: pd.DataFrame) -> str:
        return f"{band_note(drawn)}; trained on the shaded lengths; dotted: chance of an exact match"


class Suite(Grid, Study):
    """A grid of models. A run fits if its exact match on training lengths is at least ``fit``."""

    seeds: Seeds = 3
    fit: Annotated[float, Field(gt=0, le=1)] = 0.99

    @property
    def grids(self) -> Mapping[str, Grid]:
        return {"": self}

    @property
    def kind(self) -> type[Config]:
        return SequencesConfig

    def check(self, field):
        pass

    def check_cells(self, field, key, cells):
        pass

    def evidence(self, plan, records):
        """A row for each finished run and each range of lengths, the training lengths first."""
        found = [bins_of(series, self.fit) for series in _series(plan, records)]
        table = pd.concat(found, ignore_index=True)
        if table.empty:
            raise RunsFailed(f"failed: {plan.field}: every run diverged; lower protocol.lr")
        return {"": table}

    def fitting(self, evidence, trained):
        return {"": fitting_of(evidence[""], trained[""])}

    def results(self, plan, records, evidence, kept):
        found, table = _series(plan, records), evidence[""]
        lost = left_out({series.label: series.records for series in found})
        panels = {}
        for metric, label in SHOWN.items():
            drawn = shares(found, metric)
            panels[metric] = Drawn(label, Share(label), drawn.assign(overrides=plan.overrides, left_out=lost))
        summary = by_series(table)
        lines = [f"{plan.name}: {self.title}", *summary_lines(summary)]
        return Results(panels, {"bins": table, "summary": summary}, lines)


def _series(plan: Plan, records: Mapping[str, Record]) -> list[Series]:
    return [_named(Series(cell.settings, cell.best(records)[1])) for cell in plan.cells[""]]


def _named(series: Series) -> Series:
    """A series that nothing sets apart is called by its task and encoding."""
    config = series.records[0].config.model_dump()
    return series if series.chosen else series._replace(chosen={key: config[key]["name"] for key in NAMES})


def shares(found: Sequence[Series], metric: str) -> pd.DataFrame:
    """What a panel draws: ``metric`` by length over the seeds of each series, and chance."""
    runs = runs_of(found)
    drawn = curves(runs, metric, runs["series"])
    chance = curves(runs, "chance", runs["series"])["median"]
    first = runs.groupby("series")["train_from"].min()
    return drawn.assign(chance=chance, train_from=drawn["series"].map(first), metric=METRICS[metric].meaning)


def bins_of(series: Series, fit: float, published: Mapping[int, np.ndarray] | None = None) -> pd.DataFrame:
    """Return a row for each run of a series and range of lengths, the training lengths first.

    Columns say whether the run ``fit``, the ``step`` at which its training ended, early or not, the model's ``width``
    and the ``scale`` that its encoding begins with, if it has one. Further rows, numbered by ``published_range``, are
    means over the lengths of ``published`` ranges.
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
                train_length=record.config.train_length,
                fit=bool((trained["exact"] >= fit).any()),
                step=int(record.training["step"].iloc[-1]),
                width=config["model"]["width"],
                scale=config["encoding"].get("scale", np.nan),
            )
        )
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def _mean_over(record: Record, lengths: np.ndarray) -> dict[str, float]:
    """Return the means over ``lengths``, each rounded up to the next that is tested."""
    tested = record.metrics["length"].to_numpy()
    places = np.searchsorted(tested, lengths - ROUNDING).clip(max=len(tested) - 1)
    means = record.metrics[["exact", "tokens", "chance"]].iloc[places].mean()
    ends = {"first": float(tested[places.min()]), "last": float(tested[places.max()])}
    return ends | {str(name): float(value) for name, value in means.items()}


def by_series(table: pd.DataFrame, names: Sequence[str] = ("series",)) -> pd.DataFrame:
    """Exact match of each series, told apart by the columns ``names``, in each range of lengths: median, least and
    greatest over all finished runs, and the median over those that fit."""
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


def fitting_of(table: pd.DataFrame, trained: int) -> Fitting:
    """The runs that fit of a table with a row for each finished run and range of lengths."""
    alone = table[table["fit"].astype(bool)]
    return Fitting(trained, table["run"].nunique(), alone["run"].nunique(), alone)


def summary_lines(summary: pd.DataFrame) -> list[str]:
    """The summary for a terminal: a line for each series and range of lengths."""
    return [
        f"  {row['series']}: lengths {row['first']:g} to {row['last']:g}: exact match {row['median']:.3f} "
        f"({row['least']:.3f} to {row['greatest']:.3f}), chance {row['chance']:.2g}; {row['fit']:g} of "
        f"{row['runs']:g} runs fit; horizon {row['horizon']:g}"
        for row in summary.to_dict("records")
    ]
