"""The paper's message: accuracy against length of each language, by kind, beside the published numbers."""

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from omegaconf import OmegaConf

from experiments.committed_verdicts import RUNS, read_tables
from experiments.decidable.claims import IN_C_RASP, NAMES
from experiments.messages import new_figure
from synthlab.analysis.plotting import Drawing, add_legend
from synthlab.styles import GREEN, GREY, RED

STUDY = "languages"
NUMBERS: Any = OmegaConf.load(Path(__file__).with_name("published.yaml"))
NOTE = (
    "Share of strings with all states right, against length. Thin: a language; dotted: no run fits. Thick: their mean. "
    "Published, mean over languages: crosses, the configuration that is best at nine to ten times; rings, median over "
    "all that fit."
)


class Curves(Drawing):
    """The accuracy of each language of one kind against length."""

    def paint(self, axes, drawn, styles):
        draw_kind(axes, drawn)
        axes.set_ylabel("exact match")

    def note(self, drawn):
        return NOTE


def draw_kind(axes: Axes, runs: pd.DataFrame) -> None:
    """Draw the languages of one kind, of which ``runs`` has a row for each run and range of lengths."""
    kind = runs["kind"].iloc[0]
    colour = GREEN if kind in IN_C_RASP else RED
    placed = runs.assign(x=(runs["first"].clip(lower=1) + runs["last"]) / 2 / runs["train_length"], fit=runs["fit"] > 0)
    placed.loc[placed["last"] <= placed["train_length"], "x"] = 0.5
    fitting = placed[placed["fit"]]
    languages = fitting.groupby(["number", "x"])["exact"].mean().unstack("number")
    for _, rows in placed[~placed["number"].isin(languages.columns)].groupby("number"):
        axes.plot(*zip(*rows.groupby("x")["exact"].mean().items(), strict=True), ":", color=GREY, lw=0.8)
    if len(languages):
        axes.plot(languages.index, languages.to_numpy(), color=colour, alpha=0.35, lw=0.8)
        axes.plot(languages.index, languages.mean(axis="columns"), color=colour, lw=2.2)
    where = [(first - 1 + last) / 2 / NUMBERS.train_length for first, last in NUMBERS.ranges]
    published = NUMBERS.kinds[kind]
    axes.plot(where, list(published.best), "x", color="black", markersize=6, label="published, best configuration")
    axes.plot(
        where, list(published.every), "o", mfc="none", color="black", markersize=6, label="published, all that fit"
    )
    axes.axvspan(0, 1, color="0.93", zorder=-1)
    axes.set(ylim=(-0.03, 1.03), xlim=(0, None), xticks=(1, 2, 3, 5, 10), xlabel="length / longest training length")


def draw(folder: Path) -> Figure | None:
    """Draw a panel for each kind of languages."""
    runs = read_tables(folder / RUNS).get(STUDY)
    if runs is None:
        return None
    figure = new_figure(2.6)
    grid = figure.subplots(1, len(NAMES), sharey=True)
    for axes, (kind, name) in zip(grid, NAMES.items(), strict=True):
        draw_kind(axes, runs[runs["kind"] == kind])
        axes.set_title(name.replace(", ", ",\n"), fontsize="medium")
    grid[0].set_ylabel("exact match")
    add_legend(figure, NOTE)
    return figure
