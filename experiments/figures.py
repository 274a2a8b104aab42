"""What a figure is: panels, each a grid of runs and a metric of theirs. Read from ``conf/figure/``."""

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import pandas as pd
from pydantic import BaseModel, Field

from experiments.drawing import PLOTS
from synthlab.assembly import resolve
from synthlab.config import RunConfig, as_overrides, compose
from synthlab.errors import InputError
from synthlab.evaluation import METRICS
from synthlab.records import Records
from synthlab.registry import STRICT, unknown, validated
from synthlab.tables import curves


class Panel(BaseModel):
    """One panel: ``fixed`` settings, a series for each combination of those in ``vary``, and how to draw ``metric``."""

    model_config = STRICT
    title: str
    fixed: dict[str, Any] = Field(default_factory=dict)
    vary: dict[str, list[Any]]
    metric: str = "mse"
    plot: str = "curves"


class Figure(BaseModel):
    """Panels that are drawn side by side, and each alone."""

    model_config = STRICT
    title: str
    panels: dict[str, Panel]


class Cell(NamedTuple):
    """The runs of one series."""

    series: str
    configs: list[RunConfig]


def figures(raw: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures of the config group ``figure``, by name. Raises InputError for what is no figure."""
    found = {}
    for name, spec in raw.items():
        figure = found[name] = validated(Figure, spec, f"figure.{name}")
        for key, panel in figure.panels.items():
            field = f"figure.{name}.panels.{key}"
            for part, value, choices in (("metric", panel.metric, METRICS), ("plot", panel.plot, PLOTS)):
                if value not in choices:
                    raise InputError(unknown(f"{field}.{part}", value, choices))
    return found


def cells(panel: Panel, overrides: Mapping[str, str], seeds: int) -> list[Cell]:
    """The runs of ``panel``, checked: its fixed settings, then the user's ``overrides``, then what it varies."""
    fixed = _by_key(panel.fixed)
    result = []
    for values in product(*panel.vary.values()):
        chosen = dict(zip(panel.vary, values, strict=True))
        settings = fixed | overrides | _by_key(chosen)
        config = resolve(compose(list(settings.values())))
        series = " ".join(f"{key}={value}" for key, value in chosen.items())
        if len(chosen) == 1:
            series = str(values[0])
        result.append(Cell(series, [config.with_seed(seed) for seed in range(seeds)]))
    return result


def drawn_data(panel: Panel, grid: list[Cell], records: Mapping[str, Records]) -> pd.DataFrame:
    """What is drawn of ``panel``, and the whole of its CSV: a row for each series and length."""
    tables = [Records(records[config.id] for config in cell.configs).table() for cell in grid]
    series = [pd.Series(cell.series, index=table.index) for cell, table in zip(grid, tables, strict=True)]
    table = pd.concat(tables, ignore_index=True)
    drawn = curves(table, panel.metric, pd.concat(series, ignore_index=True))
    longest = {cell.series: cell.configs[0].train_length for cell in grid}
    return drawn.assign(train_length=drawn["series"].map(longest), metric=panel.metric)


def _by_key(settings: Mapping[str, Any]) -> dict[str, str]:
    return {override.split("=")[0]: override for override in as_overrides(settings)}
