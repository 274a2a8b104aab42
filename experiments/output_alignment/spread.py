"""Sources of the variance of runs: components of variance in a crossed design of seeds.

Runs are crossed in factors, such as the seeds of initial weights, of training data and of test sequences, one run for
each combination. The value of a run is modelled as a mean plus a random effect of each set S of factors: of weights
alone, of weights and data together, ... All effects are independent, those of S of variance v(S). The mean square of S
then has the expectation

    E[MS(S)] = sum over all T that contain S of n(T) v(T),

where n(T) is the number of combinations of the factors that are not in T. So

    n(S) v(S) = sum over all T that contain S of (-1)^(|T| - |S|) E[MS(T)],

which estimates v(S) without bias from mean squares (Searle, Casella and McCulloch, Variance Components, 1992, chapter
4: balanced data). The component of all factors together also includes whatever else differs from run to run.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.ticker import PercentFormatter

from synthlab.analysis.plotting import draw_intervals
from synthlab.errors import InputError
from synthlab.runs.run import Run
from synthlab.studies.grids import label
from synthlab.studies.plots import AtLengths, Series, tabulate_runs

Factors = tuple[int, ...]  # a set of the axes of the design, ascending
COVERAGE = 0.9  # of intervals
DRAWS = 10_000  # number of draws for each interval


SEEDS = Run.SEEDS[1:]  # of weights, data and tests: the axes of the design of ``Spread``
# Sets of these axes, by name. The interaction of tests and models is a source of its own.
SOURCES: dict[str, Sequence[Factors]] = {
    "weights": [(0,)],
    "data": [(1,)],
    "weights x data": [(0, 1)],
    "tests": [(2,)],
    "tests x model": [(0, 2), (1, 2), (0, 1, 2)],
}


class MeanSquare(NamedTuple):
    """A mean square and its degrees of freedom."""

    value: float
    degrees: int


class VarianceShare(NamedTuple):
    """A share of the total variance, and the interval that covers the true one."""

    value: float
    low: float
    high: float


NONE = VarianceShare(math.nan, math.nan, math.nan)


def mean_squares(values: Float[np.ndarray, "..."]) -> dict[Factors, MeanSquare]:
    """Return the mean square of every non-empty set of factors.

    ``values`` has an axis for each factor, with two levels or more.
    """
    found: dict[Factors, MeanSquare] = {}
    for factors in _sets(values.ndim):
        effect = values
        for axis in range(values.ndim):
            mean = effect.mean(axis, keepdims=True)
            effect = effect - mean if axis in factors else mean
        degrees = math.prod(values.shape[axis] - 1 for axis in factors)
        squares = float((effect**2).sum()) * _combinations(factors, values.shape)
        found[factors] = MeanSquare(squares / degrees, degrees)
    return found


def components(squares: Mapping[Factors, Float[np.ndarray, " N"]], sizes: Sequence[int]) -> Float[np.ndarray, "S N"]:
    """Return the components of variance for each of N sets of mean squares ``squares``.

    There is a row for each set of factors, in their order; ``sizes`` has the number of levels of each factor. An
    estimate can be negative.
    """
    rows = [
        sum((-1) ** (len(other) - len(factors)) * squares[other] for other in squares if set(factors) <= set(other))
        / _combinations(factors, sizes)
        for factors in squares
    ]
    return np.array(rows)


def share_variance(
    values: Float[np.ndarray, "..."], groups: Mapping[str, Sequence[Factors]]
) -> tuple[dict[str, VarianceShare], float]:
    """Return the share of each of ``groups``, sets of factors by name, in the variance over new runs.

    All levels of new runs are drawn anew. Also return the standard deviation over such runs. Components below 0 count
    as 0. Equal values have no shares: NaN.

    Intervals are generalized confidence intervals (Weerahandi, Generalized Confidence Intervals, JASA 1993) for normal
    effects: a mean square times its degrees of freedom, over its expectation, is then chi-squared. So draws of
    chi-squared numbers give draws of expectations, of components and of shares; the interval is the middle 90 % of
    these. The same values give the same interval. In simulated designs of 5 x 5 x 3 levels they covered 87 to 99 %.
    """
    if not np.ptp(values):
        return dict.fromkeys(groups, NONE), 0.0
    found, generator = mean_squares(values), np.random.default_rng(0)
    drawn = {factors: np.full(1 + DRAWS, square.value) for factors, square in found.items()}
    for factors, (_, degrees) in found.items():
        drawn[factors][1:] *= degrees / generator.chisquare(degrees, DRAWS)
    variances = components(drawn, values.shape).clip(min=0)
    total, order, result = variances.sum(0), list(found), {}
    for name, group in groups.items():
        estimate, *draws = variances[[order.index(factors) for factors in group]].sum(0) / total
        low, high = np.quantile(draws, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
        result[name] = VarianceShare(float(estimate), float(low), float(high))
    return result, math.sqrt(total[0])


def _sets(number: int) -> list[Factors]:
    return list(chain.from_iterable(combinations(range(number), size) for size in range(1, number + 1)))


def _combinations(factors: Factors, sizes: Sequence[int]) -> int:
    """Count the runs that share one level of each of ``factors``."""
    return math.prod(size for axis, size in enumerate(sizes) if axis not in factors)


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
            if not given or min(_sizes(design)) < 2 or len(design) < math.prod(_sizes(design)):
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
    if len(errors) != math.prod(sizes) or not (np.isfinite(errors) & (errors > 0)).all():
        return dict.fromkeys(SOURCES, NONE), float("nan")
    return share_variance(np.log(errors).reshape(sizes), SOURCES)
