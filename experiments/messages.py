"""The message of a paper: one picture, drawn from its committed tables alone, as wide as a page shows it."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from synthlab.analysis.curves import RC
from synthlab.analysis.looks import Style
from synthlab.studies.presentation.figure_files import PAGE, PIXELS, find_entries
from synthlab.studies.study import Paper

NAME = "message.png"
FINER = 2  # times as fine as that before it is made smaller
ASIDE = 0.16  # of a row, between points of one row
QUIET = "0.35"  # the grey of notes


def new_figure(height: float) -> Figure:
    """Return a figure as wide as a page and so many inches high."""
    return Figure(figsize=(PAGE, height), layout="constrained")


def draw_interval(axes: Axes, y: float, centre: float, ends: tuple[float, float], style: Style, width: float = 1.6):
    """Draw a point with its interval in row ``y``; a point alone where the ends are no numbers."""
    if ends[0] <= ends[1]:
        axes.hlines(y, *ends, color=style.colour, lw=width)
    axes.plot(centre, y, style.marker, color=style.colour, markersize=5.5, label=style.label)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Name the rows from top to bottom, in small letters."""
    axes.set_yticks(range(len(names)), names, fontsize="small")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.5, -0.5)


def add_legend(figure: Figure, note: str) -> None:
    """Add one legend for all axes, each label once, and a note below."""
    found = find_entries(figure.axes)
    if len(found) > 1:
        how = {"loc": "outside upper center", "ncols": len(found), "fontsize": "small", "frameon": False}
        figure.legend(list(found.values()), list(found), **how)
    figure.supxlabel(note, fontsize="small", color=QUIET)


def draw_message(paper: Paper, folder: Path) -> bytes | None:
    """Return a paper's picture as a PNG; None where the ``folder`` lacks its tables.

    The same tables give the same bytes.
    """
    with mpl.rc_context(RC):
        figure = paper.message(folder)
        if figure is None:
            return None
        drawn, small = BytesIO(), BytesIO()
        figure.savefig(drawn, dpi=FINER * PIXELS, metadata={"Software": None})
    with Image.open(drawn) as opened:
        size = (round(opened.width / FINER), round(opened.height / FINER))
        picture = opened.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    picture.quantize(128, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE).save(
        small, "PNG", optimize=True
    )
    return small.getvalue()
