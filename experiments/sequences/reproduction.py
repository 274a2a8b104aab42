"""A reproduced paper on sequence tasks: its tasks under its encodings, next to its published numbers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from omegaconf import OmegaConf
from pydantic import BaseModel, Field

from experiments.sequences.alignment import with_alignment
from experiments.sequences.bins import SHOWN, Share, bins_of, share_by_length
from experiments.sequences.comparison import compare_published, format_comparison
from experiments.sequences.published import RANGE, read_published
from synthlab.analysis.plotting import DataPanel
from synthlab.analysis.series import Settings, find_style
from synthlab.errors import InputError
from synthlab.runs.registry import STRICT, describe_unknown
from synthlab.storage.records import Record
from synthlab.studies.evidence import describe_left_out, fitting_of
from synthlab.studies.grids import Cell, Grid, Values
from synthlab.studies.plots import Series
from synthlab.studies.report import NumbersTable
from synthlab.studies.study import Plan, Results, SeedCount, Study
from synthlab.studies.verdicts import ClaimData

Arms = dict[str, dict[str, Any]]
OF_A_RUN = ["series", "arm", "task", "train_length", RANGE, "first", "last", "exact", "fit", "run", "width", "scale"]


class PaperTask(BaseModel):
    """One task of a paper: its settings, and the ``claims`` that its runs test.

    ``arms`` are the paper's arms that are trained, each with further settings, and any of its own, which name their
    encoding; by default all of the paper's are. ``seeds`` takes precedence over that of the study.
    """

    model_config = STRICT
    title: str
    seeds: SeedCount | None = None
    fixed: dict[str, Any] = Field(default_factory=dict)
    arms: Arms = Field(default_factory=dict)
    tune: dict[str, Values] = Field(default_factory=dict)
    claims: list[str] = Field(default_factory=list)


class Reproduction(Study):
    """The ``tasks`` of a paper, each trained under all ``arms``, its encodings.

    A run fits if its exact match on training lengths is at least ``fit``. ``claims`` are those that the runs of all
    tasks together test.

    A subclass names the file of the paper's ``numbers``, whose ``says`` explains them; the ``metric`` that is plotted,
    if it is not exact match; and summarizes its runs.
    """

    numbers: ClassVar[Path]
    metric: ClassVar[str] = "exact"

    fit: Annotated[float, Field(gt=0, le=1)] = 0.99
    fixed: dict[str, Any] = Field(default_factory=dict)
    arms: Annotated[Arms, Field(min_length=1)]
    tasks: Annotated[dict[str, PaperTask], Field(min_length=1)]
    claims: list[str] = Field(default_factory=list)

    @property
    def together(self) -> dict[str, list[str]]:
        return {"claims": self.claims}

    @property
    def grids(self) -> Mapping[str, Grid]:
        return {key: self._grid(task) for key, task in self.tasks.items()}

    def _grid(self, task: PaperTask) -> Grid:
        arms = {name: self.arms.get(name, {}) | task.arms.get(name, {}) for name in task.arms or self.arms}
        return Grid(fixed=self.fixed | task.fixed, arms=arms, tune=task.tune, claims=task.claims)

    def _describe_arms(self) -> dict[str, Settings]:
        """Return the settings of each arm, by its name, which may be that of an encoding."""
        own = {name: settings for task in self.tasks.values() for name, settings in task.arms.items()}
        found = {}
        for name in self.arms | own:
            style = find_style(name)
            arm = {"name": style.label if style else name} | self.arms.get(name, {}) | own.get(name, {})
            found[name] = {"arm": arm}
        return found

    def seeds_of(self, key):
        return self.tasks[key].seeds or self.seeds

    def place(self, field, key):
        return f"{field}.tasks.{key}"

    def check(self, field):
        for key, task in self.tasks.items():
            for arm, settings in task.arms.items():
                # A misspelt arm would be trained as something else.
                if arm not in self.arms and "encoding" not in settings:
                    raise InputError(describe_unknown(f"{self.place(field, key)}.arms", arm, self.arms))

    def evidence(self, plan, records):
        """Return, for each task, a row for each finished run and range of lengths, the training lengths first."""
        found = {key: self._runs(key, cells, records) for key, cells in plan.cells.items()}
        self.check_finished(plan, found)
        return found

    def _runs(self, key: str, cells: list[Cell], records: Mapping[str, Record]) -> pd.DataFrame:
        rows = []
        for cell in cells:
            [length] = {config.train_length for config in cell.configs}
            lengths = self.own_lengths(key, length)
            table = bins_of(series_of(cell, records), self.fit, lengths)
            if not table.empty:
                rows.append(table.assign(series=cell.label, arm=cell.arm, task=key))
        return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=OF_A_RUN)

    def own_lengths(self, task: str, train_length: int) -> dict[int, np.ndarray]:
        """Return the ranges, by number, of which the paper's numbers were measured at lengths of their own."""
        return {}

    def reread(self, runs):
        return {key: runs[runs["task"] == key] for key in self.tasks}

    def claim_data(self, evidence, trained):
        every = join_tables([evidence[key] for key in self.tasks])
        fitting = fitting_of(every, sum(trained[key] for key in self.tasks))
        return [*super().claim_data(evidence, trained), ClaimData(self.claims, every, fitting)]

    def results(self, plan, records, evidence):
        series = {key: [series_of(cell, records) for cell in cells] for key, cells in plan.cells.items()}
        runs = join_tables([evidence[key] for key in self.tasks])
        every = {(key, one.label): one.records for key in series for one in series[key]}
        tables, told = self.summarize(runs, every)
        published: Any = OmegaConf.load(self.numbers)
        panels = {key: self.panel(plan, key, series[key], evidence[key].empty) for key in self.tasks}
        results = Results(panels, {"bins": runs, **tables}, NumbersTable(published.says, told))
        return with_alignment(results, runs, self.metric, plan.overrides, self._describe_arms())

    def summarize(
        self, runs: pd.DataFrame, records: Mapping[tuple[str, str], Sequence[Record]]
    ) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
        """Return ours next to the published numbers: tables by name, and the one that readers see.

        ``runs`` has a row for each finished run and range of lengths, ``records`` all runs of each task and arm.
        """
        raise NotImplementedError

    def panel(self, plan: Plan, key: str, series: list[Series], empty: bool) -> DataPanel:
        """Return the panel of a task's ``metric`` against length, for each arm; empty if no run is finished."""
        drawn = pd.DataFrame() if empty else share_by_length(series, self.metric)
        lost = describe_left_out({one.label: one.records for one in series})
        title = self.tasks[key].title
        drawn, arms = drawn.assign(overrides=plan.overrides, left_out=lost), self._describe_arms()
        return DataPanel(title, Share(SHOWN[self.metric]), drawn, {one.label: arms[one.label] for one in series})


class TaskReproduction(Reproduction):
    """A reproduction of a paper that published a number for each task and arm, in the form of ``Published``.

    A subclass also names the error rate below which models generalize, its ``level``.
    """

    level: ClassVar[float]

    def own_lengths(self, task, train_length):
        return read_published(self.numbers).own_lengths(task, train_length)

    def summarize(self, runs, records):
        found = compare_published(runs, records, read_published(self.numbers), self.level)
        return {"table": found}, format_comparison(found)


def series_of(cell: Cell, records: Mapping[str, Record]) -> Series:
    """Return the runs of a cell as a series named by its arm only, which is an encoding."""
    return Series({"encoding": cell.arm}, cell.find_best(records)[1])


def join_tables(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the runs of several tasks in one table."""
    return pd.concat([rows for rows in tables if len(rows)] or tables[:1], ignore_index=True)
