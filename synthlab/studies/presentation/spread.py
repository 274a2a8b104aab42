"""A plot of the sources of seed variance: initial weights, training data, or test sequences."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.ticker import PercentFormatter

from synthlab.analysis.variance import NONE, Factors, VarianceShare, share_variance
from synthlab.config.base import Config
from synthlab.errors import InputError
from synthlab.studies.grids import label
from synthlab.studies.presentation.drawing import Lengths, Plot, Series, check_lengths, tabulate_runs

SEEDS = Config.SEEDS[1:]  # of weights, data and tests: the axes of the design
# Sets of these axes, by name. The interaction of tests and models is a source of its own.
SOURCES: dict[str, Sequence[Factors]] = {
    "weights": [(0,)],
    "data": [(1,)],
    "weights x data": [(0, 1)],
    "tests": [(2,)],
    "tests x model": [(0, 2), (1, 2), (0, 1, 2)],
}
Others = tuple[tuple[str, str], ...]


class Spread(Plot):
    """The shares of weights, data, tests and their interactions in the variance of the log error over runs.

    These are initial weights, training data and test sequences, at the given test ``lengths``; for each length, and
    each combination of the settings other than seeds. A series has no shares if a run has no error above 0.

    ``vary`` must cross ``weight_seed``, ``data_seed`` and ``test_seed``.
    """

    def __init__(self, lengths: Lengths):
        self.lengths = lengths

    def check(self, chosen, test_length):
        check_lengths(self.lengths, test_length)
        for design in _designs([Series(dict(one), ()) for one in chosen]).values():
            given = all(isinstance(one.chosen.get(seed), int) for one in design for seed in SEEDS)
            if not given or min(_sizes(design)) < 2 or len(design) < prod(_sizes(design)):
                raise InputError(f"vary: must cross {', '.join(SEEDS)}, two or more of each")

    def data(self, series, metric):
        rows: list[dict[str, Any]] = []
        for others, design in _designs(series).items():
            runs = tabulate_runs(design).sort_values([*SEEDS])
            for length in self.lengths:
                errors = runs[runs["length"] == length][metric].to_numpy(dtype=float)
                found, deviation = _shares(errors, _sizes(design))
                common = {"series": label(dict(others) | {"length": length}), "seeds": len(errors)}
                common |= {"design": " x ".join(map(str, _sizes(design))), "deviation": deviation}
                rows += [common | {"source": name} | share._asdict() for name, share in found.items() if len(errors)]
        return pd.DataFrame(rows).rename(columns={"value": "share"})

    def paint(self, axes, drawn, styles):
        sources, names = list(dict.fromkeys(drawn["source"])), list(dict.fromkeys(drawn["series"]))
        for i, name in enumerate(names):
            rows, style = drawn[drawn["series"] == name], styles[name]
            places = np.arange(len(sources)) + (i - (len(names) - 1) / 2) * 0.7 / len(names)
            factor = np.exp(rows["deviation"].iloc[0])
            told = "an error is missing" if np.isnan(factor) else f"factor {factor:.3g}"
            axes.vlines(places, rows["low"], rows["high"], color=style.colour, lw=1.2)
            look: dict[str, Any] = {"color": style.colour, "markersize": 5, "label": style.label}
            axes.plot(places, rows["share"], style.marker, **look)
            height = 1.06 + 0.07 * (len(names) - 1 - i)
            axes.text(len(sources) - 0.6, height, f"{style.label}: {told}", ha="right", fontsize="small")
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


def _designs(series: Sequence[Series]) -> dict[Others, list[Series]]:
    """Return the series of each design: those that agree in all settings except their seeds, by these settings."""
    found: dict[Others, list[Series]] = {}
    for one in series:
        others = tuple((key, str(value)) for key, value in one.chosen.items() if key not in SEEDS)
        found.setdefault(others, []).append(one)
    return found


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
