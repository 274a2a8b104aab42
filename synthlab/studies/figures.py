"""Figures: studies whose panels each plot the errors of a grid of runs."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import pandas as pd
from pydantic import Field, PositiveFloat

from synthlab.analysis.plotting import DataPanel
from synthlab.analysis.series import Settings
from synthlab.errors import InputError
from synthlab.runs.registry import Registry, describe_unknown
from synthlab.runs.run import Run
from synthlab.studies.evidence import Evidence, describe_left_out
from synthlab.studies.grids import Grid, NameOrMember, OneOrMore, Values
from synthlab.studies.plots import PLOTS, Plot, Series
from synthlab.studies.study import Results, Study
from synthlab.studies.verdicts import ClaimData

Varied = Annotated[dict[str, Values], Field(min_length=1)]


class Panel(Grid):
    """One panel: a grid, and how to plot ``metric`` of it, a series for each arm and combination in ``vary``."""

    vary: Annotated[list[Varied], OneOrMore, Field(min_length=1)] = Field(default=...)  # required
    title: str
    metric: str = "mse"
    plot: Annotated[dict[str, Any], NameOrMember] = Field(default={"name": "curves"})

    def describe(self, settings: Settings) -> Settings:
        """Return the settings of a series, with those of its arm, if it has one, as ``analysis.series`` takes them."""
        arm = settings.get("arm")
        return settings if arm is None else {**settings, "arm": {"name": arm} | self.arms[arm]}


class Figure(Study):
    """Panels that are plotted side by side, and each alone. A run fits if its training loss is at most ``level``.

    A subclass may add to the ``plots`` that a panel can name.
    """

    plots: ClassVar[Registry[Plot]] = PLOTS
    fit: PositiveFloat | None = None
    panels: Annotated[dict[str, Panel], Field(min_length=1)]

    @property
    def grids(self) -> Mapping[str, Grid]:
        return self.panels

    def level(self, config: Run) -> float | None:
        """Return the training loss up to which runs like ``config`` fit; None if the figure has no such level."""
        return self.fit

    def check(self, field):
        for key, panel in self.panels.items():
            self.plots.check(panel.plot, f"{self.place(field, key)}.plot")

    def check_cells(self, field, key, cells):
        metric, known = self.panels[key].metric, cells[0].configs[0].measures().metrics
        if metric not in known:
            raise InputError(describe_unknown(f"{field}.metric", metric, known))
        try:
            shortest = min(config.test_length for cell in cells for config in cell.configs)
            self.plots.build(self.panels[key].plot).check([cell.settings for cell in cells], shortest)
        except InputError as error:
            raise InputError(*(f"{field}.plot.{line}" for line in error.lines)) from None

    def evidence(self, plan, records):
        found = {}
        for key, cells in plan.cells.items():
            series = {cell.label: cell.find_best(records)[1] for cell in cells}
            levels = {name: level for name, runs in series.items() if (level := self.level(runs[0].config)) is not None}
            found[key] = Evidence(series, levels if self.fit else None)
        return found

    def claim_data(self, evidence, trained):
        return [ClaimData(panel.claims, evidence[key], evidence[key].fitting()) for key, panel in self.panels.items()]

    def results(self, plan, records, evidence):
        panels = {}
        for key, panel in self.panels.items():
            best = [(cell, *cell.find_best(records)) for cell in plan.cells[key]]
            levels = evidence[key].levels or {}
            found = [(tuned, Series(cell.settings, runs, levels.get(cell.label))) for cell, tuned, runs in best]
            plot = self.plots.build(panel.plot)
            drawn = draw_data(panel, plot, found, plan.overrides)
            names = plot.settings([series for _, series in found])
            panels[key] = DataPanel(
                panel.title, plot, drawn, {name: panel.describe(each) for name, each in names.items()}
            )
        return Results(panels)


def draw_data(panel: Panel, plot: Plot, found: Sequence[tuple[str, Series]], overrides: str) -> pd.DataFrame:
    """Return the data that ``plot`` shows of ``panel``, the whole of its CSV.

    ``found`` has each series after the setting that it was tuned to.
    """
    drawn = plot.data([series for _, series in found], panel.metric)
    if "train_length" not in drawn:
        drawn["train_length"] = max(record.config.train_length for _, series in found for record in series.records)
    if panel.tune:
        settings = {series.label: setting for setting, series in found}
        same = "series" in drawn and set(drawn["series"]) <= set(settings)
        every = "; ".join(f"{name}: {setting}" for name, setting in settings.items())
        drawn["tuned"] = drawn["series"].map(settings) if same else every
    lost = describe_left_out({series.label: series.records for _, series in found})
    return drawn.assign(metric=plot.measures or panel.metric, overrides=overrides, left_out=lost)
