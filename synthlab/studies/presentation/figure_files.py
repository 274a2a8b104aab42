"""Files of panels and sheets. They depend only on the data of their CSVs, so they are reproducible."""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from textwrap import wrap
from typing import Any, NamedTuple, cast

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from synthlab.analysis.curves import RC
from synthlab.analysis.looks import Style, style_of
from synthlab.analysis.names import count_letters, name_series, strip_formulas, wrap_label
from synthlab.studies.presentation.drawing import Drawing

# All in inches. A sheet is as wide as a page shows it, so that a point of its text is a point on the page.
PIXELS, WIDTH = 96, 896  # of an inch of a page, and of its column
PAGE, NARROW = WIDTH / PIXELS, 6.5
HEIGHT, HEIGHT_OF_MANY = 3.3, 2.2
MANY = 12  # panels that two columns of a sheet have room for
LINE, LETTER, HANDLE = 0.15, 0.066, 0.62  # of a legend's or a note's text: a line, a letter, a sample and the gaps
TITLE = 0.3
MOST_POINTS = 25  # of a series, that a reader can point at
NO_MOMENT = {"CreationDate": None, "Producer": None, "Creator": None}  # nothing in a PDF depends on the moment


@dataclass(frozen=True, eq=False)
class Drawn:
    """A panel ready to be drawn: its title, its plot, and the data, which are its CSV."""

    title: str
    plot: Drawing
    data: pd.DataFrame

    @property
    def names(self) -> list[str]:
        """The series that a legend explains."""
        return [] if self.data.empty else self.plot.names(self.data)

    def draw(self, axes: Axes, styles: Mapping[str, Style] | None = None) -> None:
        """Draw the panel onto ``axes``, with the title; ``styles`` are those of a sheet's series, None for its own."""
        axes.set_title(self.title)
        if self.data.empty:
            axes.text(0.5, 0.5, "every run diverged", ha="center", va="center", transform=axes.transAxes)
        else:
            self.plot.draw(axes, self.data, styles)

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


@mpl.rc_context(RC)
def save_panel(folder: Path, name: str, panel: Drawn) -> list[Path]:
    """Save a panel as PDF, PNG and CSV; return the three."""
    table = folder / f"{name}.csv"
    panel.data.to_csv(table, index=False)
    return [*_save(folder / name, draw_sheet("", [panel])), table]


def save_sheet(folder: Path, name: str, title: str, panels: Mapping[str, Drawn]) -> list[Path]:
    """Save all panels of a figure as PDF and PNG, with one legend below them; return the two."""
    return save_with_points(folder, name, title, panels)[0]


@mpl.rc_context(RC)
def save_with_points(
    folder: Path, name: str, title: str, panels: Mapping[str, Drawn]
) -> tuple[list[Path], list["Point"]]:
    """Save as ``save_sheet`` does; return the files, and where on the picture which values are."""
    figure = draw_sheet(title, list(panels.values()))
    files = _save(folder / name, figure)
    return files, find_points(figure, list(panels.values()))


class Point(NamedTuple):
    """A plotted value in words, and its place, in parts of the picture's width and height from the upper left."""

    x: float
    y: float
    says: str


def find_points(figure: Figure, panels: Sequence[Drawn]) -> list[Point]:
    """Return the values of all series that are drawn, at most ``MOST_POINTS`` of each, in order along it."""
    found = []
    for axes, panel in zip(figure.axes, panels, strict=False):
        rows = _find_rows(panel)
        for line in axes.get_lines():
            label, values = str(line.get_label()), np.column_stack([line.get_xdata(), line.get_ydata()])
            if label.startswith("_"):
                continue
            for x, y in values[:: -(-len(values) // MOST_POINTS) or 1].astype(float):
                pixel = axes.transData.transform((x, y))
                if np.isfinite(pixel).all() and axes.bbox.contains(*pixel):
                    across, up = map(float, figure.transFigure.inverted().transform(pixel))
                    spread = _describe_spread(rows.get((label, y)) or rows.get((label, x)) or [], x, y)
                    found.append(Point(across, 1 - up, f"{strip_formulas(label)}: {x:.4g}, {y:.4g}{spread}"))
    return found


def _find_rows(panel: Drawn) -> dict[tuple[str, float], list[dict[Hashable, Any]]]:
    """Return the rows of a panel's table by the label of their series and their median."""
    found: dict[tuple[str, float], list[dict[Hashable, Any]]] = {}
    if {"series", "median", "low", "high", "seeds"} <= set(panel.data):
        for row in panel.data.to_dict("records"):
            found.setdefault((name_series(str(row["series"])), row["median"]), []).append(row)
    return found


def _describe_spread(rows: Sequence[Mapping[Hashable, Any]], x: float, y: float) -> str:
    """Return the least and the greatest value over seeds of the row plotted at ``x`` and ``y``, and the seeds.

    Empty where it is not known which of ``rows`` that is.
    """
    drawn = [row for row in rows if {x, y} & {row[key] for key in row if key != "median"}] or rows
    if len(drawn) != 1:
        return ""
    [row] = drawn
    return f" ({row['low']:.4g} to {row['high']:.4g}, seeds: {row['seeds']:g})"


def draw_sheet(title: str, panels: Sequence[Drawn]) -> Figure:
    """Draw panels, two in a row or four if there are many, above one legend for all and the notes, each once."""
    columns = min(2 if len(panels) <= MANY else 4, len(panels))
    rows, width = -(-len(panels) // columns), PAGE if columns > 1 else NARROW
    styles = style_of(list(dict.fromkeys(name for panel in panels for name in panel.names)))
    letters, notes = _gather_notes(panels)
    figure = Figure(figsize=(width, rows), layout="constrained")
    grid = np.asarray(figure.subplots(rows, columns, squeeze=False))
    for axes, panel, letter in zip(grid.flat, panels, letters, strict=False):
        panel.draw(axes, styles)
        title_of = "" if _join(axes.get_title()) == _join(axes.get_xlabel()) else axes.get_title()  # said once
        axes.set_title(wrap_label(f"{letter}{title_of}".removesuffix(": "), 30 if columns > 2 else 64))
        if columns > 2:
            axes.tick_params(labelsize="small")
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_axis_off()
    _share_labels(grid, len(panels))
    note = "\n".join(wrap(notes, int(width / LETTER)))
    entries = find_entries(list(grid.flat))
    below = LINE * (1 + note.count("\n")) + 0.1 if note else 0.0
    legend = _measure_legend(list(entries), width) if len(entries) > 1 else 0.0
    tallest = max(panel.plot.height for panel in panels)
    height = (HEIGHT_OF_MANY if columns > 2 else HEIGHT * tallest) * rows + TITLE * bool(title) + legend + below
    figure.set_size_inches(width, height)
    cast(ConstrainedLayoutEngine, figure.get_layout_engine()).set(
        rect=(0, (legend + below) / height, 1, 1 - (legend + below) / height)
    )
    if title:
        figure.suptitle(title)
    if legend:
        figure.legend(
            list(entries.values()),
            list(entries),
            loc="center",
            bbox_to_anchor=(0.5, (below + legend / 2) / height),
            ncols=_count_columns(list(entries), width),
            fontsize="small",
            handlelength=3.2,
            columnspacing=1.5,
            frameon=False,
        )
    figure.text(0.5, below / 2 / height, note, ha="center", va="center", fontsize="small", color="0.35")
    return figure


def _share_labels(grid: np.ndarray, panels: int) -> None:
    """Remove axis labels that repeat those of a neighbour.

    The neighbour of a y-axis is the panel to the left, whose ticks are shared, too, if they are the same; that of an
    x-axis is the panel below.
    """
    used, columns = list(grid.flat)[:panels], grid.shape[1]
    for place, axes in reversed(list(enumerate(used))):
        left = used[place - 1] if place % columns else None
        if left is not None and axes.get_ylabel() == left.get_ylabel():
            axes.set_ylabel("")
            if axes.get_ylim() == left.get_ylim() and _names_ticks(axes) == _names_ticks(left):
                axes.tick_params(labelleft=False)
    labels = [axes.get_xlabel() for axes in used]
    for place, axes in enumerate(used[: panels - columns]):
        if labels[place] == labels[place + columns]:
            axes.set_xlabel("")


def _names_ticks(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def find_entries(grid: Sequence[Axes]) -> dict[str, Artist]:
    """Return the entries of the legend: each label with the first artist that has it."""
    found: dict[str, Artist] = {}
    for axes in grid:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(wrap_label(label, 40), handle)
    return found


def _measure_legend(entries: Sequence[str], width: float) -> float:
    """How high a legend is, in inches."""
    rows = -(-len(entries) // _count_columns(entries, width))
    return 0.12 + rows * (LINE * max(entry.count("\n") + 1 for entry in entries) + 0.03)


def _count_columns(entries: Sequence[str], width: float) -> int:
    most = max(1, int(width / (HANDLE + LETTER * max(map(count_letters, entries)))))
    rows = -(-len(entries) // most)
    return -(-len(entries) // rows)


def _gather_notes(panels: Sequence[Drawn]) -> tuple[list[str], str]:
    """Return the prefix of each panel's title, and the notes, each once.

    Notes of all panels come first, then those of some, after their letters.
    """
    owners: dict[str, list[int]] = {}
    for place, panel in enumerate(panels):
        for note in dict.fromkeys(panel.notes):
            owners.setdefault(note, []).append(place)
    drawn = [place for place, panel in enumerate(panels) if panel.notes]
    notes = [note for note, places in owners.items() if places == drawn]
    groups: dict[tuple[int, ...], list[str]] = {}
    for note, places in owners.items():
        if places != drawn:
            groups.setdefault(tuple(places), []).append(note)
    own = [re.match(r"\((\w\+?)\) ", panel.title) for panel in panels]
    if all(own):
        names, letters = [f"({found[1]})" for found in own if found], [""] * len(panels)
    else:
        names = [ascii_uppercase[k % 26] * (k // 26 + 1) for k in range(len(panels))]
        letters = [f"{name}: " for name in names] if groups else [""] * len(panels)
    notes += [f"{_name_places(places, names)}: {', '.join(told)}" for places, told in groups.items()]
    return letters, "; ".join(notes)


def _name_places(places: Sequence[int], names: Sequence[str]) -> str:
    """Return a list of places as text: ``A to C, E`` for 0, 1, 2 and 4."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    told = [
        f"{names[run[0]]} to {names[run[-1]]}" if len(run) > 2 else ", ".join(names[place] for place in run)
        for run in runs
    ]
    return ", ".join(told)


def _join(text: str) -> str:
    return " ".join(text.split())


def _save(path: Path, figure: Figure) -> list[Path]:
    pdf, png = (path.with_name(f"{path.name}.{kind}") for kind in ("pdf", "png"))
    figure.savefig(pdf, metadata=NO_MOMENT)
    figure.set_layout_engine("none")  # both files share the first one's layout
    figure.savefig(png, metadata={"Software": None})
    return [pdf, png]
