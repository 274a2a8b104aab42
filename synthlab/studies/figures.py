"""Figures: studies whose panels each draw a grid of runs on tasks with a number for an answer."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import pandas as pd
from pydantic import Field

from synthlab.analysis.curves import in_words
from synthlab.config.base import Config
from synthlab.config.registry import unknown
from synthlab.errors import InputError
from synthlab.metrics import METRICS
from synthlab.regression.config import RunConfig
from synthlab.studies.drawing import Series
from synthlab.studies.figure_files import Drawn
from synthlab.studies.grids import Cell, Grid, NameOrMember, OneOrMore, Values
from synthlab.studies.plots import PLOTS
from synthlab.studies.study import Results, Study, check_text
from synthlab.studies.verdicts import Evidence

Varied = Annotated[dict[str, Values], Field(min_length=1)]


class Panel(Grid):
    """One panel: a grid, and how to draw ``metric`` of it, a series for each arm and combination in ``vary``."""

    vary: Annotated[list[Varied], OneOrMore, Field(min_length=1)] = Field(default=...)  # must be given
    title: str
    metric: str = "mse"
    plot: Annotated[dict[str, Any], NameOrMember] = Field(default={"name": "curves"})


class Figure(Study):
    """Panels that are drawn side by side, and each alone."""

    panels: Annotated[dict[str, Panel], Field(min_length=1)]

    @property
    def grids(self) -> Mapping[str, Grid]:
        return self.panels

    @property
    def kind(self) -> type[Config]:
        return RunConfig

    def check(self, field):
        for key, panel in self.panels.items():
            place = self.place(field, key)
            check_text(place, key, panel.title)
            if panel.metric not in METRICS:
                raise InputError(unknown(f"{place}.metric", panel.metric, METRICS))
            PLOTS.arguments(panel.plot, f"{place}.plot")

    def check_cells(self, field, key, cells):
        try:
            shortest = min(config.test_length for cell in cells for config in cell.configs)
            PLOTS.build(self.panels[key].plot).check([_named(cell) for cell in cells], shortest)
        except InputError as error:
            raise InputError(*(f"{field}.plot.{line}" for line in error.lines)) from None

    def results(self, plan, records, kept):
        panels, evidence = {}, {}
        for key, panel in self.panels.items():
            found = []
            for cell in plan.cells[key]:
                tuned, runs = cell.best(records)
                found.append((tuned, Series(_named(cell), runs)))
            data = drawn_data(panel, found, plan.overrides)
            panels[key] = Drawn(panel.title, PLOTS.build(panel.plot), data)
            evidence[key] = Evidence({series.label: series.records for _, series in found})
        return Results(panels, evidence)


def _named(cell: Cell) -> dict[str, Any]:
    """What sets a series apart, its arm included."""
    return ({"arm": cell.arm} if cell.arm else {}) | cell.chosen


def drawn_data(panel: Panel, found: Sequence[tuple[str, Series]], overrides: str) -> pd.DataFrame:
    """What is drawn of ``panel``, and the whole of its CSV; ``found`` has each series after the setting that it was
    tuned to."""
    plot = PLOTS.build(panel.plot)
    drawn = plot.data([series for _, series in found], panel.metric)
    if "train_length" not in drawn:
        drawn["train_length"] = max(record.config.train_length for _, series in found for record in series.records)
    if panel.tune:
        settings = {series.label: setting for setting, series in found}
        same = "series" in drawn and set(drawn["series"]) <= set(settings)
        every = "; ".join(f"{name}: {setting}" for name, setting in settings.items())
        drawn["tuned"] = drawn["series"].map(settings) if same else every
    diverged = {series.label: sum(r.diverged_at is not None for r in series.records) for _, series in found}
    left_out = ", ".join(f"{in_words(name)} ({runs} diverged)" for name, runs in diverged.items() if runs)
    return drawn.assign(metric=plot.measures or panel.metric, overrides=overrides, left_out=left_out)
