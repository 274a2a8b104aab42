"""The layer of all figures: curves, points with intervals, cells of numbers, and sheets of panels with one legend.

A ``Drawing`` draws a table onto axes. ``DataPanel`` is a panel: a drawing with its table, which is the panel's CSV.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import Any, ClassVar, cast

import matplotlib as mpl
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from synthlab.analysis.series import Settings, style_series
from synthlab.metrics import Metric
from synthlab.styles import NOTE_GREY, PIXELS, RC, WIDTH, Style

# All in inches. A sheet is as wide as a page shows it, so that a point of its text is a point on the page.
PAGE, NARROW = WIDTH / PIXELS, 6.5
HEIGHT, HEIGHT_OF_MANY = 3.3, 2.2
SHEET_PANELS = 12  # panels that two columns of a sheet have room for
TITLE, LETTER_OF_TITLE = 0.3, 0.09
LEGEND_SHARE = 0.92  # of the width, that a legend may take: letters are a little wider at other densities
LINE, LETTER = 0.15, 0.055  # of a note's text
# PDFs do not depend on the time
PDF_METADATA: dict[str, Any] = {"CreationDate": None, "Producer": None, "Creator": None}


class Drawing(ABC):
    """Draws a table onto axes, and says how to read what it drew. All that it depends on are its attributes.

    ``height`` is that of its panel, where 1 is that of most; ``empty`` is what a panel without data says.
    """

    height: ClassVar[float] = 1.0
    empty: ClassVar[str] = "every run diverged"

    @abstractmethod
    def paint(self, axes: Axes, drawn: pd.DataFrame, styles: Mapping[str, Style]) -> None:
        """Draw the table, each series in its style. Artists with a label get an entry in the sheet's legend."""

    @abstractmethod
    def note(self, drawn: pd.DataFrame) -> str:
        """Return what the reader must know to read the plot."""


@dataclass(frozen=True, eq=False)
class DataPanel:
    """A panel ready to be drawn: its title, its drawing, the data, which are its CSV, and the settings of its series.

    ``series`` has the settings of each series in the data, by its name.
    """

    title: str
    plot: Drawing
    data: pd.DataFrame
    series: Mapping[str, Settings] = field(default_factory=dict)

    def draw(self, axes: Axes, styles: Mapping[str, Style] | None = None) -> None:
        """Draw the panel onto ``axes``, with the title; ``styles`` are those of a sheet's series, None for its own."""
        axes.set_title(self.title)
        if self.data.empty:
            axes.text(0.5, 0.5, self.plot.empty, ha="center", va="center", transform=axes.transAxes)
        else:
            self.plot.paint(axes, self.data, style_series(self.series) if styles is None else styles)

    @property
    def notes(self) -> list[str]:
        """Notes for the reader: how to read the plot, what is missing, and settings that the user changed."""
        if self.data.empty:
            return []
        best = ["for each series the best of its tuned settings by training loss"] if "tuned" in self.data else []
        left_out = [f"left out: {names}" for names in self._texts("left_out")]
        return [*self.plot.note(self.data).split("; "), *best, *left_out, *self._texts("overrides")]

    def _texts(self, column: str) -> list[str]:
        return [text for text in self.data[column].dropna().unique() if text] if column in self.data else []


def draw_lines(
    axes: Axes, drawn: pd.DataFrame, x: str, styles: Mapping[str, Style], every: int | float = 1, scale: str = "log"
) -> None:
    """Plot a line of medians and a band from ``low`` to ``high`` for each series, against the column ``x``.

    A series of one point has a bar.

    Each ``every``-th point has a marker or, for a fraction, each such part of the axes' diagonal; 0 means no markers.
    Markers of different series are staggered, so that those of close curves stay apart. ``scale`` is ``linear`` or
    ``log``; one that is logarithmic becomes linear near 0 if there are negative values.
    """
    names = list(dict.fromkeys(drawn["series"]))
    for order, name in enumerate(names):
        rows, style = drawn[drawn["series"] == name], styles[name]
        axes.fill_between(rows[x], rows["low"], rows["high"], color=style.colour, alpha=0.15, lw=0)
        first = order % every if isinstance(every, int) and every else every * order / len(names)
        marked: dict[str, Any] = {"marker": style.marker, "markevery": (first, every)} if every else {}
        look = {"color": style.colour, "linestyle": style.line, "label": style.label, "markersize": 4, "lw": 1.4}
        axes.plot(rows[x], rows["median"], **look | marked)
        if len(rows) == 1:
            axes.vlines(rows[x], rows["low"], rows["high"], color=style.colour, lw=1)
    largest = cast(float, drawn[["low", "high"]].abs().max(axis=None))
    if scale == "log" and drawn["low"].min() < 0:
        axes.set_yscale("symlog", linthresh=largest / 1000)
    elif scale == "log" and largest > 0:
        axes.set_yscale("log")


def draw_curves(axes: Axes, drawn: pd.DataFrame, metric: Metric, styles: Mapping[str, Style]) -> None:
    """Plot lines and bands of ``tables.curves`` on the metric's scale, the training lengths shaded.

    Where series were trained to different lengths, each range is shaded over the others and a ring on the curve marks
    its end.
    """
    trained = sorted(drawn["train_length"].unique())
    for length in trained:
        axes.axvspan(0.5, length + 0.5, color="0.2", alpha=0.1 if len(trained) == 1 else 0.05, lw=0, zorder=0)
    draw_lines(axes, drawn, "length", styles, every=7, scale=metric.scale)
    if len(trained) > 1:
        ends = drawn[drawn["length"] == drawn["train_length"]]
        axes.plot(ends["length"], ends["median"], "o", markersize=8, mfc="none", mec="black", mew=1, zorder=3)
    axes.set_xlim(0.5, drawn["length"].max() + 0.5)
    axes.set_xlabel("sequence length")
    axes.set_ylabel(metric.meaning)


def draw_intervals(
    axes: Axes, places: Any, values: Any, low: Any, high: Any, style: Style, width: float = 1.6, upright: bool = False
) -> None:
    """Draw points with their intervals, one in each of the rows ``places``, or columns if ``upright``.

    A point whose ends are not known (NaN) is drawn alone.
    """
    across, along = (axes.vlines, (places, values)) if upright else (axes.hlines, (values, places))
    across(places, low, high, color=style.colour, lw=width)
    axes.plot(*along, marker=style.marker, ls="", color=style.colour, markersize=5.5, label=style.label)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Name rows from top to bottom, in small letters."""
    axes.set_yticks(range(len(names)), names, fontsize="small")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.5, -0.5)


def draw_cells(
    axes: Axes,
    values: Float[np.ndarray, "R C"],
    texts: Any,
    rows: Sequence[str],
    columns: Sequence[str],
    colours: str = "cividis",
    limits: tuple[int | float, int | float] = (0.0, 1.0),
    hatched: Bool[np.ndarray, "R C"] | None = None,
    bold: Bool[np.ndarray, "R C"] | None = None,
) -> None:
    """Draw a table: a cell has the colour of its value, and its text in black or white, whichever is legible.

    Args:
        axes: The axes.
        values: The values; NaN has no colour.
        texts: The text of each cell, in rows.
        rows: The name of each row.
        columns: The name of each column.
        colours: A colour map.
        limits: The values with the first and the last colour.
        hatched: True for cells that are hatched in place of their colour, with a grey text.
        bold: True for cells with bold text.
    """
    drawn = axes.pcolormesh(values, cmap=colours, vmin=limits[0], vmax=limits[1], edgecolors="white", lw=1)
    for (i, j), value in np.ndenumerate(values):
        red, green, blue, _ = drawn.cmap(drawn.norm(value))
        is_light = np.isnan(value) or 0.3 * red + 0.59 * green + 0.11 * blue > 0.5
        look: dict[str, Any] = {"color": "black" if is_light else "white"}
        if hatched is not None and hatched[i, j]:
            axes.add_patch(Rectangle((j, i), 1, 1, facecolor="0.95", hatch="////", edgecolor="0.7", lw=0))
            look = {"color": NOTE_GREY, "bbox": {"facecolor": "0.95", "edgecolor": "none", "pad": 0.6}}
        if bold is not None and bold[i, j]:
            look["fontweight"] = "bold"
        axes.text(j + 0.5, i + 0.5, texts[i][j], ha="center", va="center", fontsize="small", **look)
    for axis, names in ((axes.xaxis, columns), (axes.yaxis, rows)):
        axis.set_ticks([k + 0.5 for k in range(len(names))], list(names), fontsize="small")
    axes.tick_params(which="both", length=0)
    axes.invert_yaxis()


def wrap_label(text: str, letters: int) -> str:
    """Return ``text`` in lines of about so many letters, none of which ends within a formula."""
    parts = text.split("$")
    parts[1::2] = [formula.replace(" ", "\0") for formula in parts[1::2]]
    lines = "$".join(parts).splitlines()
    return "\n".join(
        fill(line, letters, break_long_words="$" not in text, break_on_hyphens=False) for line in lines
    ).replace("\0", " ")


def draw_sheet(
    title: str, panels: Sequence[DataPanel], columns: int | None = None, figure: Figure | None = None, **shared: Any
) -> Figure:
    """Draw panels, two in a row or four if there are many, with one legend for all and the notes, each once.

    ``shared`` are arguments of ``Figure.subplots``.
    """
    columns = columns or min(2 if len(panels) <= SHEET_PANELS else 4, len(panels))
    rows, width = -(-len(panels) // columns), PAGE if columns > 1 else NARROW
    height = HEIGHT_OF_MANY if columns > 2 else HEIGHT * max(panel.plot.height for panel in panels)
    figure = figure or Figure()
    figure.set_layout_engine("constrained")
    figure.set_size_inches(width, rows * height)
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    styles = style_series({name: settings for panel in panels for name, settings in panel.series.items()})
    for axes, panel in zip(grid.flat, panels, strict=False):
        panel.draw(axes, styles)
        title_of = "" if axes.get_title().split() == axes.get_xlabel().split() else axes.get_title()  # said once
        axes.set_title(wrap_label(title_of, 100 // columns if columns > 2 else 64))
        if columns > 2:
            axes.tick_params(labelsize="small")
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_axis_off()
    _share_labels(grid, len(panels))
    add_legend(figure, _gather_notes(panels), title)
    return figure


def add_legend(figure: Figure, note: str = "", title: str = "") -> None:
    """Add one legend for all axes, each label once, below a title, and a note at the bottom.

    The figure grows by what they take. A label alone gets no legend.
    """
    width, height = figure.get_size_inches()
    title = wrap_label(title, int(width / LETTER_OF_TITLE))
    entries: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(wrap_label(label, 40), handle)
    look: dict[str, Any] = {"fontsize": "small", "handlelength": 3.2, "frameon": False}
    look |= {"title": title or None, "title_fontsize": "large", "loc": "outside upper center"}
    for columns in range(len(entries) if len(entries) > 1 else 0, 0, -1):
        legend = figure.legend(list(entries.values()), list(entries), ncols=columns, **look)
        if columns == 1 or legend.get_window_extent().width < LEGEND_SHARE * width * figure.dpi:
            height += legend.get_window_extent().height / figure.dpi + 0.1
            break
        legend.remove()
    else:
        if title:
            figure.suptitle(title, fontsize="large")
            height += TITLE
    if note:
        text = figure.supxlabel(wrap_label(note, int(width / LETTER)), fontsize="small", color=NOTE_GREY)
        height += LINE * (1 + text.get_text().count("\n")) + 0.1
    figure.set_size_inches(width, height)


@mpl.rc_context(RC)
def save_sheet(folder: Path, name: str, title: str, panels: Sequence[DataPanel]) -> list[Path]:
    """Save panels as one picture, in a PDF and a PNG; return the two."""
    figure = draw_sheet(title, panels)
    files = [folder / f"{name}.pdf", folder / f"{name}.png"]
    for file, metadata in zip(files, (PDF_METADATA, {"Software": None}), strict=True):
        figure.savefig(file, metadata=metadata)
        figure.set_layout_engine("none")  # both files share the first one's layout
    return files


def save_panel(folder: Path, name: str, panel: DataPanel) -> list[Path]:
    """Save a panel as PDF, PNG and CSV; return the three."""
    table = folder / f"{name}.csv"
    panel.data.to_csv(table, index=False)
    return [*save_sheet(folder, name, "", [panel]), table]


def _share_labels(grid: np.ndarray, panels: int) -> None:
    """Remove the labels of axes that repeat those of the panel to the left, or below."""
    used, columns = list(grid.flat)[:panels], grid.shape[1]
    labels = [(axes.get_xlabel(), axes.get_ylabel()) for axes in used]
    for place, axes in enumerate(used):
        if place + columns < panels and labels[place][0] == labels[place + columns][0]:
            axes.set_xlabel("")
        if place % columns and labels[place][1] == labels[place - 1][1]:
            axes.set_ylabel("")


def _gather_notes(panels: Sequence[DataPanel]) -> str:
    """Return the notes, each once: first those of most panels, then those of others, after the panels' titles."""
    owners: dict[str, list[str]] = {}
    for panel in panels:
        name = panel.title.partition(")")[0] + ")" if panel.title.startswith("(") else panel.title
        for note in dict.fromkeys(panel.notes):
            owners.setdefault(note, []).append(name)
    every = sum(bool(panel.notes) for panel in panels)
    groups: dict[str, list[str]] = {}
    for note, of in owners.items():
        groups.setdefault("" if 2 * len(of) > every else f"{', '.join(of)}: ", []).append(note)
    return "; ".join(f"{of}{', '.join(told) if of else '; '.join(told)}" for of, told in sorted(groups.items()))
