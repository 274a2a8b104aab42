"""Panels and sheets as files that come out the same each time, from the data of their CSVs alone.

A picture that is there already and shows the same is left alone: drawing takes most of the time of a command that has
nothing to train.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from textwrap import wrap

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from synthlab import metrics
from synthlab.analysis import curves
from synthlab.analysis.curves import RC
from synthlab.studies.presentation.drawing import Drawing

PANEL = (4.2, 3.4)  # inches
MANY = 12  # panels that two columns of a sheet have room for
NO_MOMENT = {"CreationDate": None, "Producer": None, "Creator": None}  # nothing in a PDF depends on the moment


@dataclass(frozen=True, eq=False)
class Drawn:
    """A panel ready to be drawn: its title, what draws it, and the data, which are its CSV."""

    title: str
    plot: Drawing
    data: pd.DataFrame

    def draw(self, axes: Axes) -> None:
        """Onto ``axes``, with the title."""
        axes.set_title(self.title)
        if self.data.empty:
            axes.text(0.5, 0.5, "every run diverged", ha="center", va="center", transform=axes.transAxes)
        else:
            self.plot.draw(axes, self.data)

    @property
    def notes(self) -> list[str]:
        """What a reader must know: how to read the plot, what is missing on it, and the settings that are not the
        figure's own, so that no variant passes for the original."""
        if self.data.empty:
            return []
        best = ["for each series the best of its tuned settings by training loss"] if "tuned" in self.data else []
        left_out = [f"left out: {names}" for names in self._texts("left_out")]
        return [self.plot.note(self.data), *best, *left_out, *self._texts("overrides")]

    @property
    def shown(self) -> str:
        """All that a picture of it depends on."""
        settings = [type(self.plot).__qualname__, repr(vars(self.plot)), _code(type(self.plot))]
        return json.dumps([self.title, *settings, self.notes, self.data.to_csv(index=False)])

    def _texts(self, column: str) -> list[str]:
        return [text for text in self.data[column].dropna().unique() if text] if column in self.data else []


def save_panel(folder: Path, name: str, panel: Drawn) -> list[Path]:
    """A panel as PDF, PNG and CSV; returns the three."""

    def draw() -> Figure:
        figure = Figure(figsize=PANEL, layout="constrained")
        panel.draw(figure.add_subplot())
        figure.supxlabel(_lines(panel.notes, 62), fontsize="x-small", color="0.35")
        return figure

    table = folder / f"{name}.csv"
    panel.data.to_csv(table, index=False)
    return [*_save(folder / name, [panel.shown], draw), table]


def save_sheet(folder: Path, name: str, title: str, panels: Mapping[str, Drawn]) -> list[Path]:
    """All panels of a figure, two in a row, or four where they are many, as PDF and PNG."""
    columns = min(2 if len(panels) <= MANY else 4, len(panels))
    rows = -(-len(panels) // columns)

    def draw() -> Figure:
        figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.4), layout="constrained")
        grid = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes, panel in zip(grid, panels.values(), strict=False):
            panel.draw(axes)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        figure.suptitle(title)
        notes = dict.fromkeys(note for panel in panels.values() for note in panel.notes)
        figure.supxlabel(_lines(notes, 70 * columns), fontsize="small", color="0.35")
        return figure

    return _save(folder / name, [title, *(panel.shown for panel in panels.values())], draw)


def _save(path: Path, shown: list[str], draw: Callable[[], Figure]) -> list[Path]:
    """Draw a picture unless it is there. Its PDF, which is written last, says what it shows."""
    pdf, png = (path.with_name(f"{path.name}.{kind}") for kind in ("pdf", "png"))
    digest = _digest(json.dumps([mpl.__version__, repr(RC), *shown]).encode())
    if not (png.is_file() and pdf.is_file() and digest.encode() in pdf.read_bytes()):
        page = BytesIO()
        with mpl.rc_context(RC):
            figure = draw()
            figure.savefig(page, format="pdf", metadata={**NO_MOMENT, "Keywords": digest})
            figure.set_layout_engine("none")  # the first file's layout serves the other
            figure.savefig(png, metadata={"Software": None})
        pdf.write_bytes(page.getvalue())
    return [pdf, png]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@cache
def _code(plot: type[Drawing]) -> str:
    """A digest of the modules that draw."""
    modules = {each.__module__ for each in plot.__mro__} | {curves.__name__, metrics.__name__, __name__}
    files = sorted(file for name in modules if (file := getattr(sys.modules[name], "__file__", None)))
    return _digest(b"".join(Path(file).read_bytes() for file in files))


def _lines(notes: Iterable[str], width: int) -> str:
    return "\n".join(wrap("; ".join(notes), width))
