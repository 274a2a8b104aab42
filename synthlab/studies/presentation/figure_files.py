"""Files of panels and sheets. They depend only on the data of their CSVs, so they are reproducible."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from synthlab.analysis.curves import RC
from synthlab.studies.presentation.drawing import Drawing

PANEL = (4.2, 3.4)  # inches
MANY = 12  # from this many panels on, a sheet has four columns instead of two
NO_MOMENT = {"CreationDate": None, "Producer": None, "Creator": None}  # nothing in a PDF depends on the time


@dataclass(frozen=True, eq=False)
class Drawn:
    """A panel ready to be drawn: its title, its plot, and the data, which are its CSV."""

    title: str
    plot: Drawing
    data: pd.DataFrame

    def draw(self, axes: Axes) -> None:
        """Draw the panel onto ``axes``, with its title."""
        axes.set_title(self.title)
        if self.data.empty:
            axes.text(0.5, 0.5, "every run diverged", ha="center", va="center", transform=axes.transAxes)
        else:
            self.plot.draw(axes, self.data)

    @property
    def notes(self) -> list[str]:
        """Notes for the reader: how to read the plot, what is missing, and settings that the user changed."""
        if self.data.empty:
            return []
        best = ["for each series the best of its tuned settings by training loss"] if "tuned" in self.data else []
        left_out = [f"left out: {names}" for names in self._texts("left_out")]
        return [self.plot.note(self.data), *best, *left_out, *self._texts("overrides")]

    def _texts(self, column: str) -> list[str]:
        return [text for text in self.data[column].dropna().unique() if text] if column in self.data else []


@mpl.rc_context(RC)
def save_panel(folder: Path, name: str, panel: Drawn) -> list[Path]:
    """Save a panel as PDF, PNG and CSV; return the three paths."""
    figure = Figure(figsize=PANEL, layout="constrained")
    panel.draw(figure.add_subplot())
    figure.supxlabel(_lines(panel.notes, 62), fontsize="x-small", color="0.35")
    table = folder / f"{name}.csv"
    panel.data.to_csv(table, index=False)
    return [*_save(folder / name, figure), table]


@mpl.rc_context(RC)
def save_sheet(folder: Path, name: str, title: str, panels: Mapping[str, Drawn]) -> list[Path]:
    """Save all panels of a figure as PDF and PNG, two in a row, or four if there are many."""
    columns = min(2 if len(panels) <= MANY else 4, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.4), layout="constrained")
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes, panel in zip(grid, panels.values(), strict=False):
        panel.draw(axes)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    figure.suptitle(title)
    notes = dict.fromkeys(note for panel in panels.values() for note in panel.notes)
    figure.supxlabel(_lines(notes, 70 * columns), fontsize="small", color="0.35")
    return _save(folder / name, figure)


def _save(path: Path, figure: Figure) -> list[Path]:
    pdf, png = (path.with_name(f"{path.name}.{kind}") for kind in ("pdf", "png"))
    figure.savefig(pdf, metadata=NO_MOMENT)
    figure.set_layout_engine("none")  # both files share the first one's layout
    figure.savefig(png, metadata={"Software": None})
    return [pdf, png]


def _lines(notes: Iterable[str], width: int) -> str:
    return "\n".join(wrap("; ".join(notes), width))
