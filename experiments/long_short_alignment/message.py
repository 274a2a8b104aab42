"""The paper's message: what predicts the loss and the errors on longer texts, misalignment or the training loss."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.committed_verdicts import CLAIMS, RUNS, read_tables
from experiments.long_short_alignment.correlation_claims import DISTANCES, OUTCOMES, describe_witnesses
from experiments.long_short_alignment.run_table import WITHIN
from experiments.messages import ASIDE, add_legend, draw_interval, name_rows, new_figure
from synthlab.analysis.correlations import WITNESSES, correlation
from synthlab.analysis.looks import BLUE, GREEN, ORANGE, Style

# The claims, from top to bottom: the study of each, the outcome that it is about, and its name.
ROWS = {
    "T1": ("table1", "loss_to_4x", "text: loss to\nfour training lengths"),
    "P1": ("predictors", OUTCOMES["P1"][0], "facts: loss after three\nto four training lengths"),
    "P2": ("predictors", OUTCOMES["P2"][0], "facts not recalled"),
    "P3": ("predictors", OUTCOMES["P3"][0], "single facts among filler\nnot recalled"),
    "P4": ("predictors", OUTCOMES["P4"][0], "linked facts\nnot recalled"),
}
STYLES = {
    "loss_1x": Style("training loss", ORANGE, "-", "o"),
    "sce": Style(DISTANCES["sce"], BLUE, "-", "s"),
    "excess": Style(DISTANCES["excess"], GREEN, "-", "^"),
}
LEAD = "less that of the training loss"
NOTE = (
    "A setting is one way of training, in which models differ in encoding or extension alone. Left: 95 % intervals "
    "over settings.\nRight: thin, over encodings; thick, over settings, computed without each encoding in turn, the "
    "widest. Right of 0, misalignment predicts better."
)


def draw(folder: Path) -> Figure | None:
    """Draw two forests: the correlations, and by how much those of misalignment exceed that of the training loss."""
    runs, path = read_tables(folder / RUNS), folder / CLAIMS
    rows = {id: row for id, row in ROWS.items() if row[0] in runs}
    if not rows or not path.exists():
        return None
    figure = new_figure(3.9)
    left, right = figure.subplots(1, 2, sharey=True)
    for y, (study, outcome, _) in enumerate(rows.values()):
        _draw_correlations(left, y, runs[study], outcome + WITHIN)
    checks = pd.read_csv(path)
    for y, id in enumerate(rows):
        _draw_leads(right, y, checks[checks["claim"] == f"long_short_alignment.{id}"])
    name_rows(left, [name for *_, name in rows.values()])
    left.set_xlabel("correlation with the outcome, Pearson's r")
    right.set_xlabel("lead over the training loss, difference of r")
    for axes in (left, right):
        axes.axvline(0, color="0.5", lw=0.8)
    add_legend(figure, NOTE)
    return figure


def _draw_correlations(axes: Axes, y: int, runs: pd.DataFrame, outcome: str) -> None:
    for order, (name, style) in enumerate(STYLES.items()):
        found = correlation(runs, name + WITHIN, outcome, WITNESSES["settings"])
        draw_interval(axes, y + (order - 1) * ASIDE, found.value, (found.low, found.high), style)


def _draw_leads(axes: Axes, y: int, checks: pd.DataFrame) -> None:
    for order, (name, words) in enumerate(DISTANCES.items()):
        for of, width in (("encodings", 1.0), ("settings", 3.0)):
            what = f"{words}, {describe_witnesses(of)}: {LEAD}"
            for row in checks[checks["check"] == what].itertuples():
                ends = float(row.low), float(row.high)  # pyright: ignore[reportArgumentType]
                draw_interval(axes, y + order * ASIDE, float(row.median), ends, STYLES[name], width)  # pyright: ignore[reportArgumentType]
