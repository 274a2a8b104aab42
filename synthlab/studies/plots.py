"""Kinds of plots of records: the data that each takes from series of runs, and how it draws them.

Drawing needs the data only, which are the panel's CSV.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter, ScalarFormatter
from pydantic import Field, PositiveInt

from synthlab.analysis.plotting import Drawing, draw_cells, draw_curves, draw_intervals, draw_lines
from synthlab.analysis.series import SYMBOLS, Settings, name_setting, style_of
from synthlab.analysis.tables import aggregate_seeds, band_note, curves, make_table, metric_of, seeds_note
from synthlab.analysis.variance import NONE, Factors, VarianceShare, share_variance
from synthlab.errors import InputError
from synthlab.metrics import Metric
from synthlab.runs.conf_files import families, run_type
from synthlab.runs.registry import Registry
from synthlab.runs.run import Run
from synthlab.storage.records import Record
from synthlab.studies.evidence import fits
from synthlab.studies.grids import label

Lengths = Annotated[list[PositiveInt], Field(min_length=1)]
# The named maps that are powers, or a limit of powers; and where the other map is placed on the axis.
EXPONENTS, BESIDE = {"identity": 1.0, "sqrt": 0.5, "log": 0.0, "rsqrt": -0.5, "reciprocal": -1.0}, 1.75
UNFIT = "hatched: no run fits"
SEEDS = Run.SEEDS[1:]  # of weights, data and tests: the axes of the design of ``Spread``
# Sets of these axes, by name. The interaction of tests and models is a source of its own.
SOURCES: dict[str, Sequence[Factors]] = {
    "weights": [(0,)],
    "data": [(1,)],
    "weights x data": [(0, 1)],
    "tests": [(2,)],
    "tests x model": [(0, 2), (1, 2), (0, 1, 2)],
}


class Series(NamedTuple):
    """The runs behind one line: the settings that distinguish them, and a record for each seed.

    ``level`` is the training loss up to which a run fits; None if the study has none.
    """

    chosen: dict[str, Any]
    records: Sequence[Record]
    level: float | None = None

    @property
    def label(self) -> str:
        """``rope`` if only the encoding is chosen, else ``encoding=rope train_length=5``."""
        return label(self.chosen)

    def count_runs(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return ``rows`` with columns that ``aggregate_seeds`` counts.

        ``diverged`` is how many of its runs diverged. ``fit`` is True if the row's run, named by its column ``id``,
        fits; it is missing without a level.
        """
        rows = rows.assign(diverged=sum(record.diverged_at is not None for record in self.records))
        if self.level is None:
            return rows
        fitting = [record.config.id for record in self.records if fits(record, self.level)]
        return rows.assign(fit=rows["id"].isin(fitting))

    def losses(self) -> pd.DataFrame:
        """Return the training curves of its finished runs, one after the other; empty if there are none."""
        finished = [record for record in self.records if record.diverged_at is None]
        parts = [record.training.assign(series=self.label, id=record.config.id) for record in finished]
        return self.count_runs(pd.concat(parts)) if parts else pd.DataFrame()


class Plot(Drawing):
    """A kind of plot of records. The figure's file has its ``name`` and its constructor's arguments.

    It draws the table that ``data`` returns, with additional columns ``metric`` and ``train_length``.
    """

    measures: str | None = None  # the plotted quantity, if it is not the panel's metric

    def check(self, chosen: Sequence[Settings], test_length: int) -> None:
        """Raise InputError, naming the argument, if the plot does not fit the series.

        ``chosen`` has the settings that distinguish each; the shortest is tested up to ``test_length``.
        """

    @abstractmethod
    def data(self, series: Sequence[Series], metric: str) -> pd.DataFrame:
        """Return the data of the plot, complete.

        The columns are ``median`` (or another plotted quantity), ``low``, ``high`` and ``seeds``, those that count runs
        that fit and that diverged, and those that identify the series.
        """

    def settings(self, series: Sequence[Series]) -> Mapping[str, Settings]:
        """Return the settings of each series that ``data`` returns, by its name."""
        return {one.label: one.chosen for one in series}

    def note(self, drawn: pd.DataFrame) -> str:
        """Return a note on seeds, band and training lengths."""
        return f"{band_note(drawn)}; trained on lengths up to {drawn['train_length'].max()}"


class Curves(Plot):
    """Error against length: a line and a band for each series."""

    def data(self, series, metric):
        runs = tabulate_runs(series)
        return curves(runs, metric, runs["series"])

    def paint(self, axes, drawn, styles):
        draw_curves(axes, drawn, _metric(drawn), styles)

    def note(self, drawn):
        ends = "; each curve is ringed where its training lengths end" if drawn["train_length"].nunique() > 1 else ""
        return f"{band_note(drawn)}; trained on the shaded lengths{ends}"


class TrainingLoss(Plot):
    """Training loss against step, whatever the panel's metric."""

    measures = "training loss, representation space"

    def data(self, series, metric):
        losses = pd.concat([one.losses() for one in series])
        return losses if losses.empty else aggregate_seeds(losses, ["series", "step"], "loss")

    def paint(self, axes, drawn, styles):
        draw_lines(axes, drawn, "step", styles, every=0.12)
        axes.set_xscale("log")
        axes.set_xlabel("training step")
        axes.set_ylabel(self.measures or "")


class Learned(Plot):
    """The learned parameters of a map against step: a line and a band for each number of each series."""

    measures = "learned exponent"

    def data(self, series, metric):
        parts = []
        for one in series:
            losses = one.losses()
            parts += [losses.assign(series=name, value=losses[column]) for column, name, _ in _numbers(one, losses)]
        found = pd.concat(parts) if parts else pd.DataFrame()
        return found if found.empty else aggregate_seeds(found, ["series", "step"], "value")

    def settings(self, series):
        return {name: settings for one in series for _, name, settings in _numbers(one, one.losses())}

    def paint(self, axes, drawn, styles):
        draw_lines(axes, drawn, "step", styles, every=0.12, scale="linear")
        axes.set_xlabel("training step")
        axes.set_ylabel(self.measures or "")


def _numbers(one: Series, losses: pd.DataFrame) -> list[tuple[str, str, Settings]]:
    """Return the column of each number that a map has learned, the name of its series and its settings."""
    names = [str(name) for name in losses if name not in ("step", "loss", "series", "id", "diverged", "fit")]
    if len(names) == 1:
        return [(names[0], one.label, one.chosen)]
    return [(each, f"{one.label}, {each}", one.chosen | {"exponent": each.rpartition("_")[2]}) for each in names]


class AtLengths(Plot):
    """A plot of the errors at the given test ``lengths``."""

    def __init__(self, lengths: Lengths):
        self.lengths = lengths

    def check(self, chosen, test_length):
        check_lengths(self.lengths, test_length)


class Against(AtLengths):
    """Error at the given test ``lengths`` against one setting ``x`` of the panel's grid.

    There is a line for each combination of the other settings, and for each length.
    """

    def __init__(self, x: str, lengths: Lengths):
        super().__init__(lengths)
        self.x = x

    def check(self, chosen, test_length):
        super().check(chosen, test_length)
        values = [series.get(self.x) for series in chosen]
        if not all(isinstance(value, int | float) and value > 0 for value in values):
            raise InputError(f"x={self.x}: must be a setting in vary whose values are all numbers above 0")

    def data(self, series, metric):
        parts = [
            tabulate_runs([one])
            .query("length == @length")
            .assign(series=label(self._others(one, length)), **{self.x: one.chosen[self.x]})
            for length in self.lengths
            for one in series
        ]
        runs = pd.concat(parts)
        return aggregate_seeds(runs, ["series", self.x], metric) if len(runs) else pd.DataFrame()

    def settings(self, series):
        found = [self._others(one, length) for length in self.lengths for one in series]
        return {label(settings): settings for settings in found}

    def paint(self, axes, drawn, styles):
        draw_lines(axes, drawn, self.x, styles)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(sorted(drawn[self.x].unique())))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.set_xlabel(SYMBOLS.get(self.x, self.x))
        at = f"\nat length {self.lengths[0]}" if len(self.lengths) == 1 else ""
        axes.set_ylabel(f"{_metric(drawn).meaning}{at}")

    def _others(self, series: Series, length: int) -> dict[str, Any]:
        others = {key: value for key, value in series.chosen.items() if key != self.x}
        return others if len(self.lengths) == 1 else others | {"length": length}


class Powers(AtLengths):
    """Error at the given test ``lengths`` against the exponent p of f(x) = x^p; named maps have markers.

    log x is placed at p = 0, since (x^p - 1) / p, the same map up to scale and offset, converges to it. 1/log(x + 1) is
    no power and is placed next to them.
    """

    def check(self, chosen, test_length):
        super().check(chosen, test_length)
        others = {key for series in chosen for key in series} - {"outrep", "outrep.p"}
        if others:
            raise InputError(f"vary.{min(others)}: a plot of powers can vary only outrep and outrep.p")

    def data(self, series, metric):
        runs = tabulate_runs(series)
        runs = runs[runs["length"].isin(self.lengths)]
        if runs.empty:
            return runs
        p = runs["outrep"].map(EXPONENTS)
        if "outrep.p" in runs:
            p = p.fillna(runs["outrep.p"])
        runs = runs.assign(series="length=" + runs["length"].astype(int).astype(str), p=p, map=runs["outrep"])
        return aggregate_seeds(runs, ["series", "p", "map"], metric)

    def settings(self, series):
        return {f"length={length}": {"length": length} for length in self.lengths}

    def paint(self, axes, drawn, styles):
        draw_lines(axes, drawn, "p", styles, every=0)  # markers are for the named maps
        named = drawn[drawn["map"] != "power"].fillna({"p": BESIDE})
        for row in named.to_dict("records"):
            median, p = row["median"], row["p"]
            spread = [[median - row["low"]], [row["high"] - median]] if p == BESIDE else None
            look: dict[str, Any] = {"color": styles[row["series"]].colour, "markersize": 6, "mec": "black", "lw": 1}
            axes.errorbar(p, median, spread, fmt=style_of(row["map"]).marker, **look)
        if (named["p"] == BESIDE).any():  # off the scale, so set apart
            axes.axvline((1 + BESIDE) / 2, color="0.7", lw=0.8, linestyle=":")
        top = axes.secondary_xaxis("top")
        places = named.drop_duplicates("map")
        top.set_ticks(places["p"], [style_of(name).label.removeprefix("plain: ") for name in places["map"]])
        axes.xaxis.set_major_locator(FixedLocator([-2, -1.5, -1, -0.5, 0, 0.5, 1]))
        axes.set_xlabel("exponent $p$ of $f(x) = x^p$")
        axes.set_ylabel(_metric(drawn).meaning)


class Heat(Plot):
    """The horizon as a table of ``rows`` and ``columns``, two settings of the panel's grid: numbers on colours.

    A cell without a run that fits is hatched: its number says nothing of models that have learned the task.
    """

    height = 0.8
    measures = value = "horizon"  # ``value`` is the column of ``numbers`` that is shown

    def __init__(self, rows: str, columns: str):
        self.rows, self.columns = rows, columns

    def numbers(self, records: Sequence[Record]) -> pd.DataFrame:
        """Return one or more rows for each run, with its ``id`` and the column ``value``, NaN if it has none."""
        return make_table(records)

    def find_greatest(self, drawn: pd.DataFrame) -> float:
        """Return the number with the lightest colour; 0 has the darkest."""
        return float(drawn["test_length"].max())

    def text(self, value: float, drawn: pd.DataFrame) -> str:
        """Return a number as text."""
        longest = drawn["test_length"].max()
        return f"{longest}+" if value == longest else f"{value:g}"

    def note(self, drawn):
        longest = drawn["test_length"].max()
        return (
            f"horizon: length up to which the relative error stays under 5 % ({longest}+: to the longest tested); "
            f"{seeds_note(drawn)}; trained on lengths up to {drawn['train_length'].max()}"
            f"{f'; {UNFIT}' if find_unfit(drawn).any() else ''}"
        )

    def check(self, chosen, test_length):
        for series in chosen:
            if set(series) != {self.rows, self.columns} or self.rows == self.columns:
                given = ", ".join(series)
                raise InputError(f"rows={self.rows} columns={self.columns}: must be the two settings in vary ({given})")

    def data(self, series, metric):
        keys = [self.rows, self.columns]
        parts = [
            one.count_runs(self.numbers(one.records)).assign(**{key: str(one.chosen[key]) for key in keys})
            for one in series
        ]
        runs = pd.concat(parts).drop_duplicates("id").dropna(subset=[self.value])
        if runs.empty:
            return runs
        order = {key: list(dict.fromkeys(runs[key])) for key in keys}
        drawn = aggregate_seeds(runs, keys, self.value).sort_values(
            keys, key=lambda names: names.map(order[str(names.name)].index)
        )
        return drawn.reset_index(drop=True).assign(test_length=int(runs["test_length"].max()))

    def settings(self, series):
        return {}

    def paint(self, axes, drawn, styles):
        keys = (self.rows, self.columns)
        rows, columns = (list(dict.fromkeys(drawn[key])) for key in keys)
        drawn = drawn.assign(unfit=find_unfit(drawn))
        values, unfit = (
            drawn.pivot(index=self.rows, columns=self.columns, values=name).loc[rows, columns]
            for name in ("median", "unfit")
        )
        texts = [["-" if np.isnan(value) else self.text(value, drawn) for value in row] for row in values.to_numpy()]
        left, below = ([name_setting(key, each) for each in of] for key, of in zip(keys, (rows, columns), strict=True))
        limits = (0, self.find_greatest(drawn))
        draw_cells(axes, values.to_numpy(), texts, left, below, limits=limits, hatched=unfit.eq(True).to_numpy())


def find_unfit(drawn: pd.DataFrame) -> pd.Series:
    """Return which rows have runs of which none fits; none does not if fitting is not defined."""
    return drawn["fit"].eq(0) if "fit" in drawn else pd.Series(False, index=drawn.index)


class Spread(AtLengths):
    """The shares of weights, data, tests and their interactions in the variance of the log error over runs.

    These are initial weights, training data and test sequences, at the given test ``lengths``; for each length, and
    each combination of the settings other than seeds. A series has no shares if a run has no error above 0.

    ``vary`` must cross ``weight_seed``, ``data_seed`` and ``test_seed``.
    """

    def check(self, chosen, test_length):
        super().check(chosen, test_length)
        for _, design in _designs([Series(dict(one), ()) for one in chosen]):
            given = all(isinstance(one.chosen.get(seed), int) for one in design for seed in SEEDS)
            if not given or min(_sizes(design)) < 2 or len(design) < prod(_sizes(design)):
                raise InputError(f"vary: must cross {', '.join(SEEDS)}, two or more of each")

    def data(self, series, metric):
        rows: list[dict[str, Any]] = []
        for others, design in _designs(series):
            runs = tabulate_runs(design).sort_values([*SEEDS])
            for length in self.lengths:
                errors = runs[runs["length"] == length][metric].to_numpy(dtype=float)
                found, deviation = _shares(errors, _sizes(design))
                common = {"series": label(others | {"length": length}), "seeds": len(errors)}
                common |= {"design": " x ".join(map(str, _sizes(design))), "deviation": deviation}
                rows += [common | {"source": name} | share._asdict() for name, share in found.items() if len(errors)]
        return pd.DataFrame(rows).rename(columns={"value": "share"})

    def settings(self, series):
        found = [others | {"length": length} for others, _ in _designs(series) for length in self.lengths]
        return {label(settings): settings for settings in found}

    def paint(self, axes, drawn, styles):
        sources, names = list(dict.fromkeys(drawn["source"])), list(dict.fromkeys(drawn["series"]))
        for i, name in enumerate(names):
            rows, style = drawn[drawn["series"] == name], styles[name]
            places = np.arange(len(sources)) + (i - (len(names) - 1) / 2) * 0.7 / len(names)
            draw_intervals(axes, places, rows["share"], rows["low"], rows["high"], style, width=1.2, upright=True)
            factor = np.exp(rows["deviation"].iloc[0])
            told = "an error is missing" if np.isnan(factor) else f"factor {factor:.3g}"
            height = 1.06 + 0.07 * (len(names) - 1 - i)
            look: dict[str, Any] = {"ha": "right", "fontsize": "small", "transform": axes.get_yaxis_transform()}
            axes.text(0.99, height, f"{style.label}: {told}", **look)
        axes.set_ylim(-0.02, 1.05 + 0.07 * len(names))  # room for the factors above all that can be there
        axes.set_yticks(np.linspace(0, 1, 6))
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.set_xticks(range(len(sources)), [name.replace(" x ", "\nx ") for name in sources])
        axes.set_ylabel("share of the variance of the log error")

    def note(self, drawn):
        return (
            f"a run for each of {drawn['design'].iloc[0]} seeds of weights, data and tests; bars: 90 % generalized "
            f"confidence intervals; factor: one standard deviation of the log error over runs; trained on lengths "
            f"up to {drawn['train_length'].max()}"
        )


def _designs(series: Sequence[Series]) -> list[tuple[dict[str, Any], list[Series]]]:
    """Return the series of each design, those that agree in all settings except their seeds, after these settings."""
    found: dict[str, tuple[dict[str, Any], list[Series]]] = {}
    for one in series:
        others = {key: str(value) for key, value in one.chosen.items() if key not in SEEDS}
        found.setdefault(str(others), (others, []))[1].append(one)
    return list(found.values())


def _sizes(design: Sequence[Series]) -> list[int]:
    """Return how many seeds of each kind a design has."""
    return [len({one.chosen[seed] for one in design}) for seed in SEEDS]


def _shares(errors: Float[np.ndarray, " N"], sizes: Sequence[int]) -> tuple[Mapping[str, VarianceShare], float]:
    """Return the share of each of the ``SOURCES``, and the standard deviation of the log error.

    They are NaN unless all values are finite and positive.
    """
    if len(errors) != prod(sizes) or not (np.isfinite(errors) & (errors > 0)).all():
        return dict.fromkeys(SOURCES, NONE), float("nan")
    return share_variance(np.log(errors).reshape(sizes), SOURCES)


PLOTS = Registry(
    "plot",
    Plot,
    {
        "curves": Curves,
        "training": TrainingLoss,
        "learned": Learned,
        "against": Against,
        "powers": Powers,
        "heat": Heat,
        "spread": Spread,
    },
)


def tabulate_runs(series: Sequence[Series]) -> pd.DataFrame:
    """Return the table of all runs, with the series each belongs to."""
    return pd.concat(
        [one.count_runs(make_table(one.records)).assign(series=one.label) for one in series], ignore_index=True
    )


def check_lengths(lengths: Sequence[int], test_length: int) -> None:
    """Raise InputError for ``lengths`` beyond ``test_length``."""
    if max(lengths) > test_length:
        raise InputError(f"lengths={list(lengths)}: must be at most test_length={test_length}")


def _metric(drawn: pd.DataFrame) -> Metric:
    """Return the metric that is drawn."""
    return metric_of(map(run_type, families()), drawn["metric"].iloc[0])
