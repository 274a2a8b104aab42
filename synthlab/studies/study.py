"""A study: a grid of arms, or several, what is drawn of it, and the claims that it is evidence for."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.mathtext import MathTextParser
from pydantic import BaseModel

from synthlab.config.base import MOST_SEEDS, Config
from synthlab.config.registry import STRICT, unknown, validated
from synthlab.errors import InputError
from synthlab.storage.records import Record
from synthlab.studies.evidence import Fitting
from synthlab.studies.grids import Cell, Grid
from synthlab.studies.overrides import Overrides
from synthlab.studies.presentation.figure_files import Drawn
from synthlab.studies.presentation.report import About, Numbers
from synthlab.studies.seeds import AUTO, LOOKS, Seeds, at_first
from synthlab.studies.verdicts import Claim, Grounds, Verdict, judge


class Results(NamedTuple):
    """What a study shows of its runs: panels, by key; further tables, by name; lines for the terminal; and numbers that
    the report has beside the panels."""

    panels: Mapping[str, Drawn]
    tables: Mapping[str, pd.DataFrame] = {}
    lines: Sequence[str] = ()
    numbers: Numbers | None = None


class Plan(NamedTuple):
    """A study and its runs: ``cells`` by grid, under ``overrides``. ``field`` is where it stands in the config; with
    ``auto`` its series get more seeds where its claims need them."""

    name: str
    field: str
    study: "Study"
    cells: Mapping[str, list[Cell]]
    overrides: str
    auto: bool

    @property
    def configs(self) -> list[Config]:
        """All runs."""
        return [config for cells in self.cells.values() for cell in cells for config in cell.configs]

    def extended(self, wanted: Mapping[tuple[str, ...], int]) -> "Plan":
        """With the seeds ``wanted`` of its series, by their identity, if they are ``auto``."""
        if not self.auto:
            return self
        cells = {
            key: [cell.extended(wanted[cell.identity]) if cell.identity in wanted else cell for cell in cells]
            for key, cells in self.cells.items()
        }
        return self._replace(cells=cells)

    def trained(self, records: Mapping[str, Record]) -> dict[str, int]:
        """Return for each grid how many runs count: those of each cell's best setting, each of them once."""
        return {
            key: len({record.config.id for cell in cells for record in cell.best(records)[1]})
            for key, cells in self.cells.items()
        }

    @property
    def figure(self) -> str:
        """What verdicts call it; what is not the study as it stands says so."""
        return ", ".join(filter(None, (self.study.title.split(":")[0], self.overrides)))


class Study(BaseModel, ABC):
    """A member of a config group. A subclass adds what its files of ``conf/`` have to say."""

    model_config = STRICT
    title: str
    seeds: Seeds = 5  # of each run; the command line's go before them

    @property
    @abstractmethod
    def grids(self) -> Mapping[str, Grid]:
        """Its grids, each by the key of the panel that it is drawn in; or the study itself, by an empty key."""

    @property
    @abstractmethod
    def kind(self) -> type[Config]:
        """The kind of its runs."""

    @abstractmethod
    def check(self, field: str) -> None:
        """Raise InputError, with what stands below ``field``, for what could not be drawn of any runs."""

    @abstractmethod
    def check_cells(self, field: str, key: str, cells: Sequence[Cell]) -> None:
        """Raise InputError for runs of the grid ``key``, which stands at ``field``, that could not be drawn."""

    @abstractmethod
    def evidence(self, plan: Plan, records: Mapping[str, Record]) -> dict[str, Any]:
        """For each grid, what its claims are judged on; ``records`` are given by identity. Raises InputError."""

    @abstractmethod
    def fitting(self, evidence: Mapping[str, Any], trained: Mapping[str, int]) -> Mapping[str, Fitting | None]:
        """For each grid, the runs that fit of the number ``trained``; None where the study does not say which do.
        ``evidence`` is what the method of that name returned."""

    def reread(self, table: Callable[[str], pd.DataFrame]) -> dict[str, Any] | None:
        """Return what ``evidence`` returned, from the tables that ``results`` made, which ``table`` reads by name; None
        where these do not have it."""
        return None

    @abstractmethod
    def results(
        self,
        plan: Plan,
        records: Mapping[str, Record],
        evidence: Mapping[str, Any],
        kept: Callable[[str], pd.DataFrame | None],
    ) -> Results:
        """What is shown of the runs; ``evidence`` is what the method of that name returned. ``kept`` returns a table as
        it was written before where nothing is to be measured anew, else None. Raises InputError."""

    @property
    def together(self) -> Sequence[str]:
        """Claims that are judged on all grids together, by id; none, unless a kind of study has such."""
        return ()

    def overall(self, evidence: Mapping[str, Any], fitting: Mapping[str, Fitting | None]) -> Sequence[Grounds]:
        """What the claims of ``together`` are judged on, made of what ``evidence`` and ``fitting`` returned. They get
        no further seeds."""
        return ()

    def judged(
        self, claims: Mapping[str, Claim[Any]], figure: str, evidence: Mapping[str, Any], trained: Mapping[str, int]
    ) -> list[Verdict]:
        """Return the verdicts on the ``claims`` that its grids are evidence for; ``figure`` is what they call it."""
        fitting = self.fitting(evidence, trained)
        grids = [Grounds(grid.claims, evidence[key], fitting[key]) for key, grid in self.grids.items()]
        return judge(claims.values(), figure, [*grids, *self.overall(evidence, fitting)])

    def place(self, field: str, key: str) -> str:
        """Where a grid stands in the config."""
        return f"{field}.panels.{key}" if key else field

    def plan(self, name: str, overrides: Overrides, seeds: Seeds | None = None, first_seed: int = 0) -> Plan:
        """The runs under the command line's ``overrides``, with the seeds from ``first_seed`` on; ``seeds`` of None are
        the study's own. Raises InputError for runs that the study could make nothing of."""
        field, base, cells = f"{overrides.group}.{name}", overrides.base(self.kind), {}
        asked = seeds or self.seeds
        most = LOOKS[-1] if asked == AUTO else asked
        if first_seed + most > MOST_SEEDS:
            raise InputError(f"first_seed={first_seed}: must be at most {MOST_SEEDS - most}, for {most} seeds")
        numbers = range(first_seed, first_seed + at_first(asked))
        for key, grid in self.grids.items():
            place = self.place(field, key)
            cells[key] = grid.cells(place, self.kind, base, numbers)
            self.check_cells(place, key, cells[key])
        told = [overrides.text(name, self.kind), f"first_seed={first_seed}" if first_seed else ""]
        return Plan(name, field, self, cells, " ".join(filter(None, told)), asked == AUTO)


class Paper(NamedTuple):
    """A paper: its studies, which are the files of a config group, and its claims.

    ``kind`` is of the runs that the settings of its command describe. What is written lies in the folder ``figures``
    beside the records of that kind, or where ``report`` and ``verdicts`` say; ``report`` may hold ``{study}``, which is
    the name of the one shown, and without ``verdicts`` each study has a table of its own. A panel's files are called by
    the study's name and the panel's key, with ``between`` them.
    """

    about: About
    group: str
    study: type[Study]
    kind: type[Config]
    claims: Mapping[str, Claim[Any]]
    report: str = "figures/report.html"
    verdicts: str | None = None
    between: str = "_"

    def studies(self, raw: Any) -> dict[str, Study]:
        """The studies of the config group, by name. Raises InputError for what is no study."""
        if not isinstance(raw, Mapping) or not raw:
            raise InputError(f"{self.group}={raw}: must be a mapping of names, as in the files of conf/{self.group}/")
        studies = {name: validated(self.study, spec, f"{self.group}.{name}") for name, spec in raw.items()}
        files = [self.file(name, key) for name, study in studies.items() for key in dict.fromkeys(["", *study.grids])]
        for name in files:
            if files.count(name) > 1:
                raise InputError(f"{self.group}.{name}: two studies or panels would be written to files of this name")
        for name, study in studies.items():
            field = f"{self.group}.{name}"
            check_text(field, name, study.title)
            for claim in study.together:
                if claim not in self.claims:
                    raise InputError(unknown(f"{field}.claims", claim, self.claims))
            for key, grid in study.grids.items():
                grid.check_settings(study.place(field, key), self.claims)
            study.check(field)
        return studies

    def page(self, studies: Iterable[str]) -> str:
        """Where the report of ``studies`` is written."""
        return self.report.format(study="_".join(studies))

    def file(self, study: str, key: str) -> str:
        """The name of the files of a panel or table, or with an empty ``key`` of the study's sheet."""
        return f"{study}{self.between}{key}" if key else study


def check_text(field: str, name: Any, title: str) -> None:
    """Refuse a name that is no part of a file's name, and a title that cannot be set."""
    if not re.fullmatch(r"[A-Za-z0-9_+-]+", str(name)):
        raise InputError(f"{field}: the name must consist of letters, digits, _, + and -")
    try:
        MathTextParser("agg").parse(title)
    except ValueError as error:
        raise InputError(f"{field}.title={title}: {str(error).splitlines()[-1]}") from None
