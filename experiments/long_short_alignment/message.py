"""The paper's message: what predicts the loss and the errors on longer texts, misalignment or the training loss."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.committed_verdicts import RUNS, read_tables
from experiments.correlations import WITNESSES, correlation
from experiments.long_short_alignment.correlation_claims import DISTANCES, OUTCOMES, check_lead
from experiments.long_short_alignment.run_table import WITHIN
from experiments.messages import ASIDE, new_figure
from synthlab.analysis.plotting import add_legend, draw_intervals, name_rows
from synthlab.studies.evidence import NoEvidence
from synthlab.styles import BLUE, GREEN, ORANGE, Style

# From top to bottom: the study of each row, the outcome that it is about, and its name.
ROWS = (
    ("table1", "loss_to_4x", "text: loss to\nfour training lengths"),
    ("table1", "loss_4x", "text: loss after three\nto four training lengths"),
    ("predictors", OUTCOMES["P1"][0], "facts: loss after three\nto four training lengths"),
    ("predictors", OUTCOMES["P2"][0], "facts not recalled"),
    ("predictors", OUTCOMES["P3"][0], "single facts among filler\nnot recalled"),
    ("predictors", OUTCOMES["P4"][0], "linked facts\nnot recalled"),
)
STYLES = {
    "loss_1x": Style("training loss", ORANGE, "-", "o"),
    "sce": Style(DISTANCES["sce"], BLUE, "-", "s"),
    "excess": Style(DISTANCES["excess"], GREEN, "-", "^"),
}
NOTE = (
    "A setting is one way of training, in which models differ in encoding or extension alone. Left: 95 % intervals "
    "over settings. Right: thin, over encodings; thick, over settings, computed without each encoding in turn, the "
    "widest. Right of 0, misalignment predicts better. All intervals are for this draw of weights and texts alone."
)


def draw(folder: Path) -> Figure | None:
    """Draw two forests: the correlations, and by how much those of misalignment exceed that of the training loss."""
    runs = read_tables(folder / RUNS)
    rows = [row for row in ROWS if row[0] in runs]
    if not rows:
        return None
    figure = new_figure(3.7)
    left, right = figure.subplots(1, 2, sharey=True)
    for y, (study, outcome, _) in enumerate(rows):
        _draw_correlations(left, y, runs[study], outcome + WITHIN)
        _draw_leads(right, y, runs[study], outcome + WITHIN)
    name_rows(left, [name for *_, name in rows])
    left.set_xlabel("correlation with the outcome, Pearson's r")
    right.set_xlabel("lead over the training loss, difference of r")
    for axes in (left, right):
        axes.axvline(0, color="0.5", lw=0.8)
    add_legend(figure, NOTE)
    return figure


def _draw_correlations(axes: Axes, y: int, runs: pd.DataFrame, outcome: str) -> None:
    for order, (name, style) in enumerate(STYLES.items()):
        found = correlation(runs, name + WITHIN, outcome, WITNESSES["settings"])
        draw_intervals(axes, y + (order - 1) * ASIDE, found.value, found.low, found.high, style)


def _draw_leads(axes: Axes, y: int, runs: pd.DataFrame, outcome: str) -> None:
    for order, (name, words) in enumerate(DISTANCES.items()):
        for of, width in (("encodings", 1.0), ("settings", 3.0)):
            try:
                found = check_lead(runs, name, words, outcome, of)
            except NoEvidence:
                continue
            low, high, _ = found.interval
            draw_intervals(axes, y + order * ASIDE, found.median, low, high, STYLES[name], width)
