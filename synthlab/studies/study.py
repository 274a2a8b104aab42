"""Studies: one or more grids of arms, their plots and tables, and the claims that they test."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import pandas as pd
from matplotlib.figure import Figure
from pydantic import BaseModel, Field, PlainValidator

from synthlab.analysis.plotting import DataPanel
from synthlab.errors import InputError, RunsFailed
from synthlab.runs.registry import STRICT, validate
from synthlab.runs.run import SEED_LIMIT, Run
from synthlab.storage.records import Record
from synthlab.studies.evidence import fitting_of
from synthlab.studies.grids import Cell, Grid, check_claims
from synthlab.studies.intervals import FIRST
from synthlab.studies.overrides import Overrides
from synthlab.studies.report import About, NumbersTable
from synthlab.studies.verdicts import Claim, ClaimData

AUTO = "auto"
LOOKS = (FIRST, 10, 15, 20)  # seeds of a series under ``auto``: five, then more if a check is undecided
MOST = 10_000


def _check_seeds(value: Any) -> Any:
    if value != AUTO and not (type(value) is int and 1 <= value <= MOST):
        raise ValueError(f"must be {AUTO}, or a whole number from 1 to {MOST}")
    return value


SeedCount = Annotated[int, Field(ge=1, le=MOST)]
Seeds = Annotated[int | Literal["auto"], PlainValidator(_check_seeds)]


class Results(NamedTuple):
    """The results of a study: panels, by key; further tables, by name; the ``numbers`` that readers see first."""

    panels: Mapping[str, DataPanel]
    tables: Mapping[str, pd.DataFrame] = {}
    numbers: NumbersTable | None = None


class Plan(NamedTuple):
    """A study and its runs: ``cells`` by grid, under ``overrides``.

    With ``auto`` its series get more seeds if its claims need them.
    """

    name: str
    study: "Study"
    cells: Mapping[str, list[Cell]]
    overrides: str
    auto: bool

    @property
    def configs(self) -> list[Run]:
        """All runs."""
        return [config for cells in self.cells.values() for cell in cells for config in cell.configs]

    def extend(self, wanted: Mapping[tuple[str, ...], int]) -> "Plan":
        """Return the plan with the seeds ``wanted`` of its series, by their identity, if they are ``auto``."""
        if not self.auto:
            return self
        cells = {
            key: [cell.extend(wanted[cell.identity]) if cell.identity in wanted else cell for cell in cells]
            for key, cells in self.cells.items()
        }
        return self._replace(cells=cells)

    @property
    def figure(self) -> str:
        """The study's name in verdicts; a modified study is marked as such."""
        return ", ".join(filter(None, (self.study.title.split(":")[0], self.overrides)))


class Study(BaseModel, ABC):
    """A file of ``conf/study/``. A subclass adds the keys of its files.

    ``task`` is that of runs for which neither the study nor the command line names one.
    """

    model_config = STRICT
    task: ClassVar[str] = "mean"
    title: str
    seeds: Seeds = 5  # of each run; the command line's take precedence

    @property
    @abstractmethod
    def grids(self) -> Mapping[str, Grid]:
        """Its grids, each by the key of its panel; or the study itself, by an empty key."""

    @property
    def run_class(self) -> type[Run] | None:
        """The class of its runs; None: that of their tasks' family."""
        return None

    def seeds_of(self, key: str) -> Seeds:
        """Return the seeds of the grid ``key``."""
        return self.seeds

    def seconds_of(self, key: str) -> float | None:
        """Return the seconds of a run of the grid ``key`` on one core, as measured; None if they are not known."""
        return None

    def check(self, field: str) -> None:
        """Raise InputError, naming the key below ``field``, for a study that could not be plotted for any runs."""

    def check_cells(self, field: str, key: str, cells: Sequence[Cell]) -> None:
        """Raise InputError for runs of the grid ``key``, which is at ``field``, that could not be plotted."""

    @abstractmethod
    def evidence(self, plan: Plan, records: Mapping[str, Record]) -> dict[str, Any]:
        """Return, for each grid, the data for its claims; ``records`` are by identity. Raises InputError."""

    def count_trained(self, plan: Plan) -> dict[str, int]:
        """Return, for each grid, how many runs count: those of one setting of each cell."""
        return {key: sum(cell.seeds for cell in cells) for key, cells in plan.cells.items()}

    def claim_data(self, evidence: Mapping[str, Any], trained: Mapping[str, int]) -> list[ClaimData]:
        """Return the data that claims are judged on: the ``evidence`` of each grid, here a table of runs.

        Those that fit are counted among the number ``trained``.
        """
        return [
            ClaimData(grid.claims, evidence[key], fitting_of(evidence[key], trained[key]))
            for key, grid in self.grids.items()
        ]

    def reread(self, runs: pd.DataFrame) -> dict[str, Any] | None:
        """Return what ``evidence`` returned, from the table of ``runs`` that ``results`` made; None if it lacks it."""
        return None

    @abstractmethod
    def results(self, plan: Plan, records: Mapping[str, Record], evidence: Mapping[str, Any]) -> Results:
        """Return the results of the runs; ``evidence`` is what that method returned. Raises InputError."""

    @property
    def together(self) -> Mapping[str, Sequence[str]]:
        """Claims that are judged on all grids together, by the field that names them. They get no further seeds."""
        return {}

    def place(self, field: str, key: str) -> str:
        """Return the key of a grid in the config."""
        return f"{field}.panels.{key}" if key else field

    def check_finished(self, plan: "Plan", tables: Mapping[str, pd.DataFrame]) -> None:
        """Raise RunsFailed if the ``tables`` of runs are all empty."""
        if all(table.empty for table in tables.values()):
            raise RunsFailed(f"failed: study.{plan.name}: every run diverged; lower protocol.lr")

    def families(self, overrides: Overrides) -> list[str]:
        """Return the families of its runs, each once, without composing the runs."""
        return list(
            dict.fromkeys(each for grid in self.grids.values() for each in grid.families_of_runs(overrides, self.task))
        )

    def plan(self, name: str, overrides: Overrides, seeds: Seeds | None = None, first_seed: int = 0) -> Plan:
        """Return the runs under the command line's ``overrides``, with the seeds from ``first_seed`` on.

        ``seeds`` of None are the study's own. Raises InputError if the study has no panel for these runs.
        """
        field, cells = f"study.{name}", {}
        auto = (seeds or self.seeds) == AUTO
        asked = {key: seeds or self.seeds_of(key) for key in self.grids}
        counts = {key: number if isinstance(number, int) else LOOKS[0] for key, number in asked.items()}
        most = max(*counts.values(), LOOKS[-1] if auto else 0)
        if first_seed + most > SEED_LIMIT:
            raise InputError(f"first_seed={first_seed}: must be at most {SEED_LIMIT - most}, for {most} seeds")
        for key, grid in self.grids.items():
            place, numbers = self.place(field, key), range(first_seed, first_seed + counts[key])
            cells[key] = grid.cells(place, overrides, numbers, self.task, self.run_class)
            self.check_cells(place, key, cells[key])
        plan = Plan(name, self, cells, "", auto)
        told = [overrides.text(name, self.families(overrides)), f"first_seed={first_seed}" if first_seed else ""]
        return plan._replace(overrides=" ".join(filter(None, told)))


Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Paper:
    """A paper: the name of its folder in ``experiments/`` and in ``conf/study/``, its kind of studies, and its claims.

    A panel's files are called by the study's name and the panel's key, with ``between`` them. ``blocks`` makes the
    tables of pages of the committed tables in a folder, by the name of their block; ``message`` draws the one picture
    that says what the paper is about, None where tables are missing. ``page`` makes a page of the tables ``runs``, by
    study.
    """

    name: str
    about: About
    study: type[Study]
    claims: Mapping[str, Claim[Any]]
    between: str = "_"
    blocks: Callable[[Path], Mapping[str, Rows]] = lambda _: {}
    message: Callable[[Path], Figure | None] = lambda _: None
    page: Callable[[Mapping[str, pd.DataFrame]], str] | None = None

    def __post_init__(self):
        claims = {id: replace(claim, paper=self.name) for id, claim in self.claims.items()}
        object.__setattr__(self, "claims", claims)

    def studies(self, raw: Any) -> dict[str, Study]:
        """Return the studies of a config ``study``, by name. Raises InputError for an invalid study."""
        if not isinstance(raw, Mapping) or not raw:
            raise InputError(f"study={raw}: must be a mapping of names, as in the files of conf/study/{self.name}/")
        studies = {name: validate(self.study, spec, f"study.{name}") for name, spec in raw.items()}
        for name, study in studies.items():
            field = f"study.{name}"
            for key, claims in study.together.items():
                check_claims(f"{field}.{key}", claims, self.claims)
            for key, grid in study.grids.items():
                grid.check_settings(study.place(field, key), self.claims)
            study.check(field)
        return studies
