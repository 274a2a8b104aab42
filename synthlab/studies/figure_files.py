"""Panels and sheets as files that come out the same each time, from the data of their CSVs alone."""

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from synthlab import metrics
from synthlab.analysis import curves
from synthlab.storage.files import write_whole
from synthlab.studies.plots import Drawing

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

PANEL = (4.2, 3.4)  # inches
# Text stays text in the PDF, and nothing in it depends on the moment.
RC: "dict[RcKeyType, Any]" = {
    "pdf.fonttype": 42,
    "svg.hashsalt": "synthlab",
    "font.size": 9,
    "axes.titlesize": 9,
    "savefig.dpi": 160,
}
METADATA = {"pdf": {"CreationDate": None, "Producer": None, "Creator": None}, "png": {"Software": None}}


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

    def _texts(self, column: str) -> list[str]:
        return [text for text in self.data[column].dropna().unique() if text] if column in self.data else []

    @cached_property
    def csv(self) -> str:
        """The data as they are written."""
        return self.data.to_csv(index=False)

    @cached_property
    def digest(self) -> str:
        """Of everything that the picture depends on: data, titles, and the code that draws."""
        shown = json.dumps([self.title, type(self.plot).__qualname__, vars(self.plot), self.csv])
        return _digest(shown, _code(type(self.plot)))


class Folder:
    """Where figures lie. A picture is drawn only if what it shows has changed, or its file has."""

    INDEX = ".drawn.json"  # for each file, the digest of what it shows and of its bytes

    def __init__(self, path: Path, redraw: bool = False):
        self.path = path
        index = path / self.INDEX
        self.index: dict[str, list[str | None]] = {}
        if not redraw:
            with suppress(OSError, ValueError, TypeError):  # there is none, or it is damaged: all is drawn anew
                self.index |= json.loads(index.read_text())

    def save_panel(self, name: str, panel: Drawn) -> list[Path]:
        """A panel as PDF, PNG and CSV; returns the three."""

        def make() -> Figure:
            figure = Figure(figsize=PANEL, layout="constrained")
            panel.draw(figure.add_subplot())
            figure.supxlabel(_lines(panel.notes, 62), fontsize="x-small", color="0.35")
            return figure

        table = self.path / f"{name}.csv"
        table.write_text(panel.csv, encoding="utf-8")
        return [*self._save(name, panel.digest, make), table]

    def save_sheet(self, name: str, title: str, panels: Mapping[str, Drawn]) -> list[Path]:
        """All panels of a figure, two in a row, as PDF and PNG."""
        columns = min(2, len(panels))
        rows = -(-len(panels) // columns)

        def make() -> Figure:
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

        return self._save(name, _digest(title, *(panel.digest for panel in panels.values())), make)

    def _save(self, name: str, digest: str, make: Callable[[], Figure]) -> list[Path]:
        targets = {kind: self.path / f"{name}.{kind}" for kind in METADATA}
        if any(self.index.get(path.name) != [digest, _bytes(path)] for path in targets.values()):
            with mpl.rc_context(RC):
                figure = make()
                for kind, path in targets.items():
                    figure.savefig(path, metadata=METADATA[kind])
                    figure.set_layout_engine("none")  # the first file's layout serves the others
            self.index |= {path.name: [digest, _bytes(path)] for path in targets.values()}
            write_whole(self.path / self.INDEX, json.dumps(self.index, indent=1) + "\n")
        return list(targets.values())


def _lines(notes: Iterable[str], width: int) -> str:
    return "\n".join(wrap("; ".join(notes), width))


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _bytes(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


@cache
def _code(plot: type) -> str:
    """Of all that draws a plot: its class and those it is made from, what they share, and the library."""
    classes = [inspect.getfile(cls) for cls in plot.__mro__ if cls.__module__ not in ("builtins", "abc")]
    files = dict.fromkeys([*classes, __file__, curves.__file__, metrics.__file__])
    return _digest(mpl.__version__, *(Path(file).read_text() for file in files))
