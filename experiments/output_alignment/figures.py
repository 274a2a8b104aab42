"""What a figure is: panels, each a grid of runs and a plot of theirs. Read from ``conf/figure/``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any, NamedTuple

import pandas as pd
from matplotlib.mathtext import MathTextParser
from pydantic import BaseModel, Field

from experiments.output_alignment.claims import CLAIMS
from synthlab.analysis.curves import in_words
from synthlab.config.base import BOOKKEEPING
from synthlab.config.composition import Composed, as_overrides, settings_of
from synthlab.config.registry import STRICT, unknown, validated
from synthlab.errors import InputError
from synthlab.metrics import METRICS
from synthlab.regression.config import RunConfig
from synthlab.regression.construction import resolve
from synthlab.storage.records import Record
from synthlab.studies.plots import PLOTS, Series
from synthlab.studies.report import About
from synthlab.studies.settings import NameOrMember, OneOrMore, Values, check_name, combinations

ABOUT = About("The synthetic experiments", Path(__file__).parent / "deviations.yaml", "protocol=lab")
Grid = Annotated[dict[str, Values], Field(min_length=1)]


class Panel(BaseModel):
    """One panel: ``fixed`` settings, a series for each combination of those in ``vary`` (one grid, or several in a
    list), and how to draw ``metric``.

    With ``tune``, each series is drawn under that combination of its settings which trained to the lowest loss.
    ``claims`` names those of ``claims.py`` that the panel is evidence for.
    """

    model_config = STRICT
    title: str
    fixed: dict[str, Any] = Field(default_factory=dict)
    vary: Annotated[list[Grid], OneOrMore, Field(min_length=1)]
    tune: dict[str, Values] = Field(default_factory=dict)
    metric: str = "mse"
    plot: Annotated[dict[str, Any], NameOrMember] = {"name": "curves"}
    claims: list[str] = Field(default_factory=list)


class Figure(BaseModel):
    """Panels that are drawn side by side, and each alone."""

    model_config = STRICT
    title: str
    panels: Annotated[dict[str, Panel], Field(min_length=1)]


class Cell(NamedTuple):
    """One series before it is trained: what sets it apart, and the runs under each setting it is tuned over."""

    chosen: dict[str, Any]
    candidates: dict[str, list[RunConfig]]

    @property
    def configs(self) -> list[RunConfig]:
        """All its runs."""
        return [config for configs in self.candidates.values() for config in configs]


def figures(raw: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures of the config group ``figure``, by name. Raises InputError for what is no figure."""
    if not isinstance(raw, Mapping) or not raw:
        raise InputError(f"figure={raw}: must be a mapping of figures, as in conf/figure/1.yaml")
    found = {name: validated(Figure, spec, f"figure.{name}") for name, spec in raw.items()}
    files = [f"{name}{key}" for name, figure in found.items() for key in ("", *figure.panels)]
    for name in files:
        if files.count(name) > 1:
            raise InputError(f"figure.{name}: two figures or panels would be written to files of this name")
    for name, figure in found.items():
        _check_text(f"figure.{name}", name, figure.title)
        for key, panel in figure.panels.items():
            _check_panel(f"figure.{name}.panels.{key}", key, panel)
    return found


def _check_panel(field: str, key: str, panel: Panel) -> None:
    _check_text(field, key, panel.title)
    for part, values, choices in (("metric", [panel.metric], METRICS), ("claims", panel.claims, CLAIMS)):
        for value in values:
            if value not in choices:
                raise InputError(unknown(f"{field}.{part}", value, choices))
    PLOTS.arguments(panel.plot, f"{field}.plot")
    for key in ("seed", *BOOKKEEPING):
        if any(key in settings for settings in (panel.fixed, panel.tune, *panel.vary)):
            raise InputError(f"{field}: sets {key}, which is the command line's; leave it out")
    for grid in panel.vary:
        twice = (panel.fixed.keys() & grid.keys()) | (panel.tune.keys() & (grid.keys() | panel.fixed.keys()))
        if twice:
            raise InputError(f"{field}: sets {min(twice)} twice; a setting stands in one of fixed, vary and tune")


def _check_text(field: str, name: str, title: str) -> None:
    """Refuse a name that is no part of a file's name, and a title that cannot be set."""
    check_name(field, name)
    try:
        MathTextParser("agg").parse(title)
    except ValueError as error:
        raise InputError(f"{field}.title={title}: {str(error).splitlines()[-1]}") from None


def cells(panel: Panel, base: Composed, seeds: int) -> list[Cell]:
    """The runs of ``panel``, checked: its own settings on top of ``base``, the lab's config.

    Raises InputError for an override of what makes the panel what it is.
    """
    result = []
    for chosen in (chosen for grid in panel.vary for chosen in combinations(grid)):
        candidates = {}
        for tuned in combinations(panel.tune):
            settings = dict(settings_of(panel.fixed)) | dict(settings_of(chosen)) | dict(settings_of(tuned))
            for key, override in base.overrides.items():
                if key.split("@")[0] in settings:
                    raise InputError(f"{override}: panel {panel.title!r} sets {key} itself; see conf/figure/")
            config = resolve(base.with_settings(settings))
            candidates[" ".join(as_overrides(tuned))] = [config.with_seed(seed) for seed in range(seeds)]
        result.append(Cell(chosen, candidates))
    _check_cells(panel, result)
    return result


def _check_cells(panel: Panel, found: Sequence[Cell]) -> None:
    """Refuse series that are there twice, whose runs would pass for seeds, and a plot that does not fit the grid."""
    ids = [config.id for cell in found for config in cell.configs]
    if len(set(ids)) < len(ids):
        raise InputError(f"panel {panel.title!r}: the same run is there twice; leave one of its series out")
    try:
        shortest = min(config.test_length for cell in found for config in cell.configs)
        PLOTS.build(panel.plot).check([cell.chosen for cell in found], shortest)
    except InputError as error:
        raise InputError(*(f"panel {panel.title!r}: plot.{line}" for line in error.lines)) from None


def best(cell: Cell, records: Mapping[str, Record]) -> tuple[str, Series]:
    """The setting under which the cell's runs trained to the lowest loss (median over seeds), and those runs."""

    def loss(setting: str) -> float:
        found = [records[config.id] for config in cell.candidates[setting]]
        return median(float("inf") if r.diverged_at is not None else r.training["loss"].iloc[-1] for r in found)

    setting = min(cell.candidates, key=loss) if len(cell.candidates) > 1 else next(iter(cell.candidates))
    return setting, Series(cell.chosen, [records[config.id] for config in cell.candidates[setting]])


def drawn_data(panel: Panel, found: Sequence[tuple[str, Series]], overrides: str) -> pd.DataFrame:
    """What is drawn of ``panel``, and the whole of its CSV; ``found`` is what ``best`` says of each cell."""
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
