"""What a figure is: panels, each a grid of runs and a metric of theirs. Read from ``conf/figure/``."""

import re
from collections.abc import Mapping
from itertools import product
from typing import Annotated, Any, NamedTuple

import pandas as pd
from matplotlib.mathtext import MathTextParser
from pydantic import BaseModel, Field

from experiments.drawing import PLOTS
from synthlab.assembly import resolve
from synthlab.composition import as_overrides, compose
from synthlab.config import RunConfig
from synthlab.errors import InputError
from synthlab.metrics import METRICS
from synthlab.records import Record
from synthlab.registry import STRICT, unknown, validated
from synthlab.tables import curves, table


class Panel(BaseModel):
    """One panel: ``fixed`` settings, a series for each combination of those in ``vary``, and how to draw ``metric``."""

    model_config = STRICT
    title: str
    fixed: dict[str, Any] = Field(default_factory=dict)
    vary: Annotated[dict[str, Annotated[list[Any], Field(min_length=1)]], Field(min_length=1)]
    metric: str = "mse"
    plot: str = "curves"


class Figure(BaseModel):
    """Panels that are drawn side by side, and each alone."""

    model_config = STRICT
    title: str
    panels: Annotated[dict[str, Panel], Field(min_length=1)]


class Cell(NamedTuple):
    """The runs of one series."""

    series: str
    configs: list[RunConfig]


def figures(raw: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures of the config group ``figure``, by name. Raises InputError for what is no figure."""
    if not isinstance(raw, Mapping) or not raw:
        raise InputError(f"figure={raw}: must be a mapping of figures, as in conf/figure/1.yaml")
    found = {name: validated(Figure, spec, f"figure.{name}") for name, spec in raw.items()}
    for name, figure in found.items():
        _check_text(f"figure.{name}", name, figure.title)
        for key, panel in figure.panels.items():
            field = f"figure.{name}.panels.{key}"
            _check_text(field, key, panel.title)
            for part, value, choices in (("metric", panel.metric, METRICS), ("plot", panel.plot, PLOTS)):
                if value not in choices:
                    raise InputError(unknown(f"{field}.{part}", value, choices))
            for part in ("fixed", "vary"):
                if "seed" in getattr(panel, part):
                    raise InputError(f"{field}.{part}.seed: figures take their seeds from 0 on; leave it out")
    return found


def _check_text(field: str, name: str, title: str) -> None:
    """Refuse a name that is no part of a file's name, and a title that cannot be set."""
    if not re.fullmatch(r"[A-Za-z0-9_+-]+", str(name)):
        raise InputError(f"{field}: the name must consist of letters, digits, _, + and -")
    try:
        MathTextParser("agg").parse(title)
    except ValueError as error:
        raise InputError(f"{field}.title={title}: {str(error).splitlines()[-1]}") from None


def cells(panel: Panel, overrides: Mapping[str, str], seeds: int) -> list[Cell]:
    """The runs of ``panel``, checked: its fixed settings, the user's ``overrides``, and what it varies.

    Raises InputError for an override of what makes the panel what it is.
    """
    fixed = _by_key(panel.fixed)
    for key in overrides:
        if key in fixed or key in panel.vary:
            raise InputError(f"{overrides[key]}: panel {panel.title!r} sets {key} itself; see conf/figure/")
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


def drawn_data(
    panel: Panel, grid: list[Cell], records: Mapping[str, Record], overrides: Mapping[str, str]
) -> pd.DataFrame:
    """What is drawn of ``panel``, and the whole of its CSV: a row for each series and length."""
    rows = [table([records[config.id] for config in cell.configs]).assign(series=cell.series) for cell in grid]
    together = pd.concat(rows, ignore_index=True)
    drawn = curves(together, panel.metric, together["series"])
    longest = {cell.series: cell.configs[0].train_length for cell in grid}
    settings = " ".join(overrides.values())
    return drawn.assign(train_length=drawn["series"].map(longest), metric=panel.metric, overrides=settings)


def _by_key(settings: Mapping[str, Any]) -> dict[str, str]:
    return {override.split("=")[0]: override for override in as_overrides(settings)}
