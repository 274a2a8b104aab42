"""The atlas in the form of studies, which are the files of ``conf/study/atlas/``."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, cast

import pandas as pd
from omegaconf import OmegaConf
from pydantic import BaseModel, Field, PositiveFloat
from torch import nn

from experiments.atlas.page import label_row, make_page
from experiments.atlas.scores import score_runs, summarize
from experiments.sequences.checks import LEAST_FIT
from synthlab.analysis.plotting import DataPanel, Drawing, draw_cells
from synthlab.cli.studies import read_studies
from synthlab.errors import InputError
from synthlab.models.encodings import ENCODINGS, Encoding
from synthlab.models.mixers import MIXERS, Mixer
from synthlab.runs.composition import to_overrides
from synthlab.runs.registry import STRICT, find_class
from synthlab.storage.records import Record
from synthlab.storage.store import Store
from synthlab.studies.evidence import describe_left_out
from synthlab.studies.grids import Cell, Grid
from synthlab.studies.overrides import Overrides
from synthlab.studies.report import About
from synthlab.studies.study import Paper, Plan, Results, Study
from synthlab.studies.verdicts import Claims

SHOWN = 2  # times the training length, in the picture
FILES = ("default", "further")  # of conf/study/atlas/


class Matrix(Drawing):
    """The median skill of each arm (rows) on each task (columns), hatched where fewer than half of the runs fit."""

    height = 1.6

    def paint(self, axes, drawn, styles):
        at = drawn[drawn["times"] == SHOWN]
        arms, tasks = (list(dict.fromkeys(drawn[name])) for name in ("arm", "task"))
        skill, share = (
            at.assign(share=at["fit"] / at["runs"]).pivot(index="arm", columns="task", values=name).loc[arms, tasks]
            for name in ("median", "share")
        )
        texts = skill.map(lambda value: "-" if pd.isna(value) else f"{max(value, 0):.2f}").to_numpy()
        labels = [label_row(arm) for arm in arms]
        hatched = share.lt(LEAST_FIT).to_numpy()
        draw_cells(axes, skill.to_numpy(), texts, labels, [task.replace("_", " ") for task in tasks], hatched=hatched)

    def note(self, drawn):
        return (
            f"skill at {SHOWN} times the training length: 1 is no error, 0 that of an answer which ignores the input; "
            f"median of {drawn['runs'].max()} runs; hatched: fewer than half of them fit"
        )


class AtlasTask(BaseModel):
    """A task: its settings, the skill from which runs ``fit``, and the ``seconds`` of a run on one core, measured."""

    model_config = STRICT
    fixed: dict[str, Any]
    fit: Annotated[float, Field(gt=0, le=1)] = 0.99
    seconds: PositiveFloat


class Atlas(Study):
    """The ``tasks`` of a family, each trained under all ``arms``, the rows of the atlas: encodings and mixers."""

    fixed: dict[str, Any] = Field(default_factory=dict)
    arms: Annotated[dict[str, dict[str, Any]], Field(min_length=1)]
    tasks: Annotated[dict[str, AtlasTask], Field(min_length=1)]

    @property
    def grids(self) -> Mapping[str, Grid]:
        return {key: Grid(fixed=self.fixed | task.fixed, arms=self.arms) for key, task in self.tasks.items()}

    def place(self, field, key):
        return f"{field}.tasks.{key}"

    def seconds_of(self, key):
        return self.tasks[key].seconds

    def evidence(self, plan, records):
        """Return, for each task, a row for each finished run and point of its curve."""
        found = {}
        for key, cells in plan.cells.items():
            rows = [
                score_runs(cell.find_best(records)[1], self.tasks[key].fit).assign(
                    task=key,
                    arm=cell.arm,
                    kind=kind_of(self.arms[cell.arm]),
                    runs=cell.seeds,
                    command=self.command(key, cell),
                )
                for cell in cells
            ]
            found[key] = pd.concat([pd.DataFrame(), *(of for of in rows if len(of))], ignore_index=True)
        self.check_finished(plan, found)
        return found

    def command(self, key: str, cell: Cell) -> str:
        """Return the command that trains the runs of a cell of the task ``key``, without those of the command line."""
        of_task = self.tasks[key].fixed  # named first, and taken before those of all tasks
        settings = to_overrides(of_task | self.fixed | of_task | self.arms[cell.arm])
        seeds = [config.seed for config in cell.configs]
        first = f"{seeds[0]}," if seeds[0] else ""
        return shlex.join(["synthlab", "sweep", *settings, f"seed=range({first}{seeds[-1] + 1})"])

    def results(self, plan, records, evidence):
        runs = join(plan, evidence)
        lost: dict[str, list[Record]] = {}
        for cell in (cell for cells in plan.cells.values() for cell in cells):
            lost.setdefault(cell.arm, []).extend(cell.find_best(records)[1])
        drawn = summarize(runs).assign(overrides=plan.overrides, left_out=describe_left_out(lost))
        return Results({"matrix": DataPanel(self.title, Matrix(), drawn)}, {"runs": runs})


def join(plan: Plan, evidence: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the ``evidence`` of all tasks of a plan in one table."""
    return pd.concat(evidence.values(), ignore_index=True).assign(overrides=plan.overrides)


def kind_of(arm: Mapping[str, Any]) -> str:
    """Return ``mixer`` for an arm that sets something of the model, ``map`` for one with a map, else ``encoding``."""
    if any(key.startswith("model") for key in arm):
        return "mixer"
    return "map" if "outrep" in arm else "encoding"


ABOUT = About(
    "The atlas of position encodings and mixers",
    "no paper: settings of the lab",
    "docs/extending.md",
    Path(__file__).with_name("deviations.yaml"),
    "study atlas",
)
ATLAS = Paper("atlas", ABOUT, Atlas, Claims(), page=make_page)


def all_studies() -> dict[str, Study]:
    """Return the studies of all files, by name, without the quick one."""
    return ATLAS.studies({name: spec for file in FILES for name, spec in read_studies(ATLAS.name, file).items()})


def tabulate_recorded(store: Store) -> dict[str, pd.DataFrame]:
    """Return the table ``runs`` of each study, with those cells of which ``store`` has all runs."""
    tables = {}
    for name, study in all_studies().items():
        plan = study.plan(name, Overrides())
        recorded = store.recorded({config.id for config in plan.configs})
        whole = {
            key: [cell for cell in cells if recorded.issuperset(cell.identity)] for key, cells in plan.cells.items()
        }
        plan = plan._replace(cells={key: cells for key, cells in whole.items() if cells})
        if plan.cells:
            records = {record.config.id: record for record in store.read_all(recorded)}
            tables[name] = join(plan, study.evidence(plan, records))
    return tables


@dataclass(frozen=True)
class RowAlone(Paper):
    """The atlas with one row, which has a folder of its own."""

    arms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def studies(self, raw):
        return super().studies({name: {**study, "arms": self.arms} for name, study in raw.items()})


def row_alone(name: str, settings: Sequence[str]) -> Paper:
    """Return the atlas with the row ``name``, whose ``settings`` are words of a command line.

    The row is one of the atlas' own, an encoding, a mixer, or a class of the user: an encoding, a mixer or a model.
    Raises InputError for another name.
    """
    rows = read_studies("atlas", "numbers")["numbers"]["arms"]
    values = {word.partition("=")[0]: OmegaConf.from_dotlist([f"value={word.partition('=')[2]}"]) for word in settings}
    own = {key: cast(Any, OmegaConf.to_container(value))["value"] for key, value in values.items()}
    arm = {**(rows.get(name) or _find_arm(name)), **own}
    label = " ".join([name, *settings])
    return RowAlone(f"atlas/{label}", ABOUT, Atlas, Claims(), page=make_page, arms={label: arm})


def _find_arm(name: str) -> dict[str, Any]:
    if name in MIXERS:
        return {"encoding": "nope", "model.mixer": name}
    if ":" not in name:
        ENCODINGS.find(name, "row")
        return {"encoding": name}
    made = find_class(name, "row")
    if isinstance(made, type) and issubclass(made, Encoding):
        return {"encoding": name}
    if isinstance(made, type) and issubclass(made, nn.Module):
        return {"encoding": "nope", "model.mixer" if issubclass(made, Mixer) else "model": name}
    raise InputError(f"row={name}: must be an encoding, a mixer or a model")
