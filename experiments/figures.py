"""What a figure is: panels, each a grid of runs and a plot of theirs. Read from ``conf/figure/``."""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from statistics import median
from typing import Annotated, Any, NamedTuple

import pandas as pd
from matplotlib.mathtext import MathTextParser
from pydantic import BaseModel, BeforeValidator, Field

from experiments.claims import CLAIMS
from experiments.plots import PLOTS, Series
from synthlab.assembly import resolve
from synthlab.composition import Composed, as_overrides, settings_of
from synthlab.config import RunConfig
from synthlab.errors import InputError
from synthlab.metrics import METRICS
from synthlab.records import Record
from synthlab.registry import STRICT, unknown, validated

Values = Annotated[list[Any], Field(min_length=1)]
Grid = Annotated[dict[str, Values], Field(min_length=1)]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, Mapping) else value


def _as_member(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class Panel(BaseModel):
    """One panel: ``fixed`` settings, a series for each combination of those in ``vary`` (one grid, or several in a
    list), and how to draw ``metric``.

    With ``tune``, each series is drawn under that combination of its settings which trained to the lowest loss.
    ``claims`` names those of ``claims.py`` that the panel is evidence for.
    """

    model_config = STRICT
    title: str
    fixed: dict[str, Any] = Field(default_factory=dict)
    vary: Annotated[list[Grid], BeforeValidator(_as_list), Field(min_length=1)]
    tune: dict[str, Values] = Field(default_factory=dict)
    metric: str = "mse"
    plot: Annotated[dict[str, Any], BeforeValidator(_as_member)] = {"name": "curves"}
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
    if any("seed" in settings for settings in (panel.fixed, panel.tune, *panel.vary)):
        raise InputError(f"{field}: sets seed; figures take their seeds from 0 on, leave it out")


def _check_text(field: str, name: str, title: str) -> None:
    """Refuse a name that is no part of a file's name, and a title that cannot be set."""
    if not re.fullmatch(r"[A-Za-z0-9_+-]+", str(name)):
        raise InputError(f"{field}: the name must consist of letters, digits, _, + and -")
    try:
        MathTextParser("agg").parse(title)
    except ValueError as error:
        raise InputError(f"{field}.title={title}: {str(error).splitlines()[-1]}") from None


def cells(panel: Panel, base: Composed, seeds: int) -> list[Cell]:
    """The runs of ``panel``, checked: its own settings on top of ``base``, the lab's config.

    Raises InputError for an override of what makes the panel what it is.
    """
    fixed = dict(settings_of(panel.fixed))
    own = [key for settings in (fixed, panel.tune, *panel.vary) for key in settings]
    for key, override in base.overrides.items():
        group = key.split("@")[0]
        if group in own:
            raise InputError(f"{override}: panel {panel.title!r} sets {group} itself; see conf/figure/")
    result = []
    for chosen in (chosen for grid in panel.vary for chosen in _combinations(grid)):
        candidates = {}
        for tuned in _combinations(panel.tune):
            config = resolve(base.with_settings(fixed | dict(settings_of(chosen | tuned))))
            candidates[" ".join(as_overrides(tuned))] = [config.with_seed(seed) for seed in range(seeds)]
        result.append(Cell(chosen, candidates))
    return result


def best(cell: Cell, records: Mapping[str, Record]) -> tuple[str, Series]:
    """The setting under which the cell's runs trained to the lowest loss (median over seeds), and those runs."""

    def loss(setting: str) -> float:
        found = [records[config.id] for config in cell.candidates[setting]]
        return median(float("inf") if r.diverged_at is not None else r.training["loss"].iloc[-1] for r in found)

    setting = min(cell.candidates, key=loss) if len(cell.candidates) > 1 else next(iter(cell.candidates))
    return setting, Series(cell.chosen, [records[config.id] for config in cell.candidates[setting]])


def drawn_data(panel: Panel, found: Sequence[tuple[str, Series]], overrides: Mapping[str, str]) -> pd.DataFrame:
    """What is drawn of ``panel``, and the whole of its CSV; ``found`` is what ``best`` says of each cell."""
    drawn = PLOTS.build(panel.plot).data([series for _, series in found], panel.metric)
    if "train_length" not in drawn:
        drawn["train_length"] = max(record.config.train_length for _, series in found for record in series.records)
    if panel.tune:
        settings = {series.label: setting for setting, series in found}
        drawn["tuned"] = drawn["series"].map(settings) if "series" in drawn else str(settings)
    return drawn.assign(metric=panel.metric, overrides=" ".join(overrides.values()))


def _combinations(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
