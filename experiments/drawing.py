"""Plots of panels, from the data of their CSVs alone; and files that come out the same each time."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from synthlab.plots import band_note, draw_curves

PANEL = (4.2, 3.4)  # inches
# Text stays text in the PDF, and nothing in it depends on the moment.
RC = {"pdf.fonttype": 42, "svg.hashsalt": "synthlab", "font.size": 9, "axes.titlesize": 9, "savefig.dpi": 160}
METADATA = {"pdf": {"CreationDate": None, "Producer": None, "Creator": None}, "png": {"Software": None}}


def draw_error_curves(axes: Axes, drawn: pd.DataFrame) -> None:
    """The default plot: error against length, a line and a band for each series."""
    if drawn.empty:
        axes.text(0.5, 0.5, "every run diverged", ha="center", va="center", transform=axes.transAxes)
        return
    draw_curves(axes, drawn, int(drawn["train_length"].max()), drawn["metric"].iloc[0])


PLOTS = {"curves": draw_error_curves}


def draw_panel(axes: Axes, title: str, plot: str, drawn: pd.DataFrame) -> None:
    """One panel with its title."""
    PLOTS[plot](axes, drawn)
    axes.set_title(title)


def save_panel(path: Path, title: str, plot: str, drawn: pd.DataFrame) -> list[Path]:
    """``path`` as PDF, PNG and CSV; returns the three."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=PANEL, layout="constrained")
        draw_panel(figure.add_subplot(), title, plot, drawn)
        figure.supxlabel(_note(drawn), fontsize="x-small", color="0.35")
        saved = _save(figure, path)
    drawn.to_csv(path.with_suffix(".csv"), index=False)
    return [*saved, path.with_suffix(".csv")]


def save_sheet(path: Path, title: str, panels: Mapping[str, tuple[str, str, pd.DataFrame]]) -> list[Path]:
    """All panels of a figure, two in a row, as PDF and PNG; ``panels`` holds title, plot and data of each."""
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.4), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).flat
        for axes, (heading, plot, drawn) in zip(grid, panels.values(), strict=False):
            draw_panel(axes, heading, plot, drawn)
        for axes in list(grid)[len(panels) :]:
            axes.set_axis_off()
        figure.suptitle(title)
        figure.supxlabel(_note(pd.concat([data for _, _, data in panels.values()])), fontsize="small", color="0.35")
        return _save(figure, path)


def _note(drawn: pd.DataFrame) -> str:
    # Settings that are not the figure's own are said on it, so that no variant passes for the original.
    overrides = "".join(f"; {settings}" for settings in drawn["overrides"].dropna().unique() if settings)
    return f"{band_note(drawn)}; trained on the shaded lengths{overrides}"


def _save(figure: Figure, path: Path) -> list[Path]:
    saved = [path.with_suffix(f".{kind}") for kind in METADATA]
    for target, metadata in zip(saved, METADATA.values(), strict=True):
        figure.savefig(target, metadata=metadata)
    return saved
