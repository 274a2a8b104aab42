"""Grids of arms: how ``conf/`` describes the runs of a study, and the runs that a description stands for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import inf
from statistics import median
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, Field

from synthlab.errors import InputError
from synthlab.runs.composition import settings_of, to_overrides
from synthlab.runs.conf_files import families, groups_of
from synthlab.runs.registry import STRICT, describe_unknown
from synthlab.runs.run import Run, resolve
from synthlab.storage.records import Record
from synthlab.studies.intervals import FIRST
from synthlab.studies.overrides import OF_THE_COMMAND, Overrides

Values = Annotated[list[Any], Field(min_length=1)]
# A mapping, or a list of several; the name of a registry's member, or the name with its arguments.
OneOrMore = BeforeValidator(lambda value: [value] if isinstance(value, Mapping) else value)
NameOrMember = BeforeValidator(lambda value: {"name": value} if isinstance(value, str) else value)


def label(settings: Mapping[str, Any]) -> str:
    """Return the name of a series: the member's if ``settings`` choose one of a group, else ``key=value`` for each."""
    if len(settings) == 1 and set(settings) <= {group for family in families() for group in groups_of(family)}:
        return str(next(iter(settings.values())))
    return " ".join(f"{key}={value}" for key, value in settings.items())


class Cell(NamedTuple):
    """One series: its arm, the settings that distinguish it within the arm, and its runs, one for each seed.

    ``candidates`` has these runs under each setting that the series is tuned over.
    """

    arm: str
    chosen: dict[str, Any]
    candidates: dict[str, list[Run]]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that distinguish the series, its arm included."""
        return ({"arm": self.arm} if self.arm else {}) | self.chosen

    @property
    def label(self) -> str:
        """The name of the series."""
        return label(self.settings)

    @property
    def seeds(self) -> int:
        """The number of its seeds."""
        return len(next(iter(self.candidates.values())))

    @property
    def identity(self) -> tuple[str, ...]:
        """A key that is equal for cells of other grids with the same runs."""
        return tuple(config.id for config in self.configs)

    def extend(self, seeds: int) -> "Cell":
        """Return the cell with ``seeds`` seeds, counted on from the first; other seeds that are fixed stay fixed.

        A series whose runs do not depend on the seed has one run, and is returned unchanged.
        """
        if self.seeds < FIRST:
            return self
        return self._replace(candidates={name: _add_seeds(runs, seeds) for name, runs in self.candidates.items()})

    @property
    def configs(self) -> list[Run]:
        """All its runs."""
        return [config for configs in self.candidates.values() for config in configs]

    def find_best(self, records: Mapping[str, Record]) -> tuple[str, list[Record]]:
        """Return the setting with the lowest training loss (median over seeds), and the records of its runs."""
        found = {key: [records[config.id] for config in configs] for key, configs in self.candidates.items()}

        def loss(setting: str) -> float:
            of = found[setting]
            return median(inf if each.diverged_at is not None else each.training["loss"].iloc[-1] for each in of)

        setting = min(found, key=loss) if len(found) > 1 else next(iter(found))
        return setting, found[setting]


def _add_seeds(runs: list[Run], seeds: int) -> list[Run]:
    first, last = runs[0], runs[-1]
    own = {name: getattr(first, name) for name in first.SEEDS if getattr(first, name) == getattr(last, name)}
    more = range(first.seed + len(runs), first.seed + seeds)
    return [*runs, *(first.with_seeds(dict.fromkeys(first.SEEDS, seed) | own) for seed in more)]


class Grid(BaseModel):
    """``arms``, each trained with every combination of the settings in ``vary``, all with those in ``fixed``.

    ``vary`` is one grid, or a list of several. An arm's settings take precedence over all others. Of the settings in
    ``tune``, each series uses those with the lowest training loss. ``claims`` are those that the runs test.
    """

    model_config = STRICT
    fixed: dict[str, Any] = Field(default_factory=dict)
    arms: Annotated[dict[str, dict[str, Any]], Field(min_length=1)] = {"": {}}
    vary: Annotated[list[dict[str, Values]], OneOrMore, Field(min_length=1)] = [{}]
    tune: dict[str, Values] = Field(default_factory=dict)
    claims: list[str] = Field(default_factory=list)

    def check_settings(self, field: str, claims: Mapping[str, Any]) -> None:
        """Raise InputError for an unknown claim, and for settings that do not belong here."""
        check_claims(f"{field}.claims", self.claims, claims)
        for key in (key for part in (self.fixed, *self.arms.values(), *self.vary, self.tune) for key in part):
            if key in ("seed", *OF_THE_COMMAND):
                raise InputError(f"{field}: sets {key}, which only the command line may set; leave it out")
        for varied in self.vary:
            twice = (self.fixed.keys() & varied.keys()) | (self.tune.keys() & (varied.keys() | self.fixed.keys()))
            twice |= {key for arm in self.arms.values() for key in arm.keys() & self.tune.keys()}
            if twice:
                raise InputError(f"{field}: sets {min(twice)} twice; set it in only one of fixed, vary and tune")

    def cells(
        self, field: str, overrides: Overrides, seeds: range, task: str = "mean", own: type[Run] | None = None
    ) -> list[Cell]:
        """Return the runs, checked: the grid's settings on top of the command line's ``overrides``.

        Each run has each of ``seeds``, or only the first if its settings make it independent of the seed.

        Args:
            field: The key of the grid in the config, for errors.
            overrides: The command line's settings of runs.
            seeds: Consecutive numbers.
            task: The task of runs if neither the grid nor the command line names one.
            own: The class of the runs; None: that of the task's family.

        Raises:
            InputError: An override contradicts the grid's own settings, or runs would differ in name only.
        """
        found = []
        for arm, chosen in self._series():
            candidates = {}
            for tuned in combinations(self.tune):
                settings = self._settings(arm, chosen, tuned)
                raw = overrides.compose(field, settings, task)
                config = resolve(raw if own is None else raw | {"family": own.model_fields["family"].default})
                runs = seeds if config.depends_on_seed(raw) else seeds[:1]
                candidates[" ".join(to_overrides(tuned))] = [config.with_seeds(raw | {"seed": seed}) for seed in runs]
            found.append(Cell(arm, chosen, candidates))
        ids = [config.id for cell in found for config in cell.configs]
        if len(set(ids)) < len(ids):
            raise InputError(f"{field}: two series have the same run; leave one out")
        return found

    def families_of_runs(self, overrides: Overrides, task: str) -> Iterator[str]:
        """Yield the family of each run, without composing it; for arguments see ``cells``."""
        for (arm, chosen), tuned in product(self._series(), combinations(self.tune)):
            yield overrides.find_family(self._settings(arm, chosen, tuned), task)

    def _series(self) -> Iterable[tuple[str, dict[str, Any]]]:
        return product(self.arms, [chosen for varied in self.vary for chosen in combinations(varied)])

    def _settings(self, arm: str, chosen: dict[str, Any], tuned: dict[str, Any]) -> dict[str, Any]:
        return dict(settings_of(self.fixed | chosen | self.arms[arm] | tuned))


def combinations(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return all combinations of one value of each setting of a grid."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def check_claims(field: str, named: Iterable[str], claims: Mapping[str, Any]) -> None:
    """Raise InputError for a claim that is none of the paper's ``claims``."""
    for claim in named:
        if claim not in claims:
            raise InputError(describe_unknown(field, claim, claims))
