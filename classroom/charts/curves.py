"""The charts of a model in training. Each takes plain numbers and redraws only what has changed."""

# Bokeh's stubs refuse valid arguments of its models: a range's ends by position, a glyph's short names, columns that
# are lists, the attributes of a subclass.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false

from collections.abc import Sequence
from math import isfinite, log10
from typing import Any, cast

from bokeh.models import (
    BoxAnnotation,
    ColumnDataSource,
    CustomJSTickFormatter,
    FixedTicker,
    GlyphRenderer,
    HoverTool,
    Label,
    NumeralTickFormatter,
    Range1d,
)

from classroom.charts.styles import INK, SHADE, Line, chart, ramp, tip
from classroom.messages import Dots

FLOOR = 1e-12  # the place of 0 on a logarithmic axis
FADED, FULL = 0.25, 1.0
# Powers of ten as 10³, all alike; labels between them would take too much space.
POWERS = """
    const power = Math.log10(tick)
    const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹"
    const whole = Math.round(power)
    if (Math.abs(power - whole) > 1e-6) return ""
    return "10" + (whole < 0 ? "⁻" : "") + Array.from(String(Math.abs(whole))).map((d) => digits[+d]).join("")
"""


class CurvesChart:
    """A chart of curves, one for each run; hovering names the run.

    ``x`` and ``y`` label the axes: a quantity, and its unit in parentheses.
    """

    def __init__(self, title: str, x: str, y: str, scale: str):
        # Ranges are set explicitly, since those of Bokeh warn of empty charts.
        self.figure = chart(title, x, y, y_axis_type=scale, x_range=Range1d(0, 1), y_range=Range1d(0.1, 1))
        self.scale = scale
        powers, plain = CustomJSTickFormatter(code=POWERS), NumeralTickFormatter(format="0,0.[0000]")
        self.figure.yaxis.formatter = powers if scale == "log" else plain
        of_x, of_y = (label.partition("(")[0].strip() for label in (x, y))
        said = tip(f"<b>@name</b><br>{of_x} @x{{%d}}: {of_y} @y{{%.2g}}")
        self.hover = HoverTool(**said, renderers=[], point_policy="snap_to_data", limit=1)
        self.figure.add_tools(self.hover)
        self.drawn: dict[Any, list[GlyphRenderer]] = {}

    def add(self, key: Any, source: ColumnDataSource, style: Line, width: float = 3) -> None:
        """Add a curve of the columns x and y of ``source``."""
        common = {"x": "x", "y": "y", "source": source}
        curve = self.figure.line(**common, color=style.colour, line_dash=style.dash, width=width)
        # Invisible points for hovering; a few of them have markers, which distinguish the curves without colour.
        caught = self.figure.scatter(**common, size=14, alpha=0)
        marks = self.figure.scatter("x", "y", source=source, marker=style.marker, size="mark", color=style.colour)
        self.drawn[key] = [curve, caught, marks]
        self.hover.renderers = [*self.hover.renderers, caught]

    def fit(self) -> None:
        """Fit the axes to all curves that are shown."""
        shown = [curve.data_source.data["y"] for curve, *_ in self.drawn.values() if curve.visible]
        values = [value for curve in shown for value in curve]
        values = [value for value in values if value > FLOOR and isfinite(value)] or [0.1]
        if self.scale == "log":  # up to 1 at least, so that small values look small
            low, high = log10(min(values)) - 0.3, max(log10(max(values)), 0) + 0.3
            low = min(low, high - 2.1)  # below two powers of ten, Bokeh's ticks are elsewhere
            low, high = 10**low, 10**high
        else:
            low, high = -0.03 * max(values), 1.05 * max(values)
        self.figure.y_range.update(start=low, end=high)

    def fade(self, key: Any, faded: bool) -> None:
        """Move a curve to the background, or back."""
        alpha = FADED if faded else FULL
        curve, _, marks = self.drawn[key]
        curve.glyph.line_alpha = alpha
        marks.glyph.fill_alpha = marks.glyph.line_alpha = alpha

    def show(self, key: Any, shown: bool) -> None:
        """Show or hide a curve."""
        for each in self.drawn[key]:
            each.visible = shown

    def remove(self, key: Any) -> None:
        """Remove a curve."""
        gone = self.drawn.pop(key, [])
        self.hover.renderers = [each for each in self.hover.renderers if each not in gone]
        self.figure.renderers = [each for each in self.figure.renderers if each not in gone]


def points(x: Sequence[float], y: Sequence[float], name: str, order: int = 0, marks: int = 8) -> dict[str, list]:
    """Return the columns of a curve with about ``marks`` markers on its points.

    Curves of other orders have markers on other points.
    """
    every = max(1, len(x) // marks)
    sizes = [9 if i % every == order * 2 % every else 0 for i in range(len(x))]
    return {"x": list(x), "y": [max(value, FLOOR) for value in y], "mark": sizes, "name": [name] * len(x)}


class ErrorChart:
    """Test error against length, on a logarithmic and on a linear scale, the training lengths shaded."""

    def __init__(self) -> None:
        title, x = "Error by length", "length of the test sequences (symbols)"
        y = "mean squared error\n(unit of the answer, squared)"
        self.charts = {scale: CurvesChart(title, x, y, scale) for scale in ("log", "linear")}
        self.shades = []
        for each in self.charts.values():
            shade = BoxAnnotation(left=0.5, fill_color=SHADE, fill_alpha=0.15, level="underlay")
            each.figure.add_layout(shade)
            self.shades.append(shade)
        style = {"text_align": "center", "text_font_size": "18px", "text_color": INK, "y": 90, "y_units": "screen"}
        self.hints = [Label(**style, x=0, text="") for _ in self.charts]
        for each, hint in zip(self.charts.values(), self.hints, strict=True):
            each.figure.add_layout(hint)
        self.show("log")

    def show(self, scale: str) -> None:
        """Set the scale."""
        for name, each in self.charts.items():
            each.figure.visible = name == scale

    def give_hint(self, text: str) -> None:
        """Write a text into the chart; an empty one removes it."""
        for hint in self.hints:
            hint.text = text

    def stage(self, train_length: int, test_length: int) -> None:
        """Shade the training lengths, and fit the axis to the test lengths."""
        for shade in self.shades:
            shade.right = train_length + 0.5
        for each, hint in zip(self.charts.values(), self.hints, strict=True):
            each.figure.x_range.start, each.figure.x_range.end = 0.5, test_length + 0.5
            hint.x = (train_length + test_length) / 2


class OutputsChart:
    """The distribution of outputs at a few lengths, a row each: outputs as dots, and targets as bars below them.

    The range of training targets is shaded.
    """

    def __init__(self, title: str):
        self.figure = chart(title, "", "length (symbols)", x_range=Range1d(0, 1), y_range=Range1d(-0.6, 4.6))
        self.practised = BoxAnnotation(fill_color=SHADE, fill_alpha=0.15, level="underlay")
        self.figure.add_layout(self.practised)
        self.bars = ColumnDataSource(_empty("x", "top", "bottom", "length"))
        bars = self.figure.segment("x", "top", "x", "bottom", source=self.bars, color=INK, width=3)
        self.dots = ColumnDataSource(_empty("x", "y", "colour", "marker", "length", "real"))
        dots = self.figure.scatter(
            *("x", "y"), source=self.dots, color="colour", marker="marker", size=8, fill_alpha=0.4, line_alpha=0.7
        )
        self.figure.add_tools(HoverTool(**tip("length @length: output @real{%.3g}"), renderers=[dots]))
        self.figure.add_tools(HoverTool(**tip("length @length: truth @x{%.3g}"), renderers=[bars]))
        self.figure.ygrid.grid_line_color = None
        self.rows = self.figure.yaxis.ticker = FixedTicker(ticks=[])

    def clear(self) -> None:
        """Show nothing."""
        self.bars.data, self.dots.data, self.rows.ticks = _empty(*self.bars.data), _empty(*self.dots.data), []
        self.practised.update(left=None, right=None, visible=False)

    def update(
        self, dots: Sequence[Dots], outputs: str, truth: str, seen: tuple[float, float], train_length: int
    ) -> None:
        """Show the fields named ``outputs`` and ``truth`` of the dots."""
        low, high = find_range([value for each in dots for value in getattr(each, truth)] + list(seen))
        room = high - low
        self.figure.x_range.update(start=low - 0.1 * room, end=high + 0.25 * room)
        self.practised.update(left=seen[0], right=seen[1], visible=True)
        rows, bars = _empty(*self.dots.data), _empty(*self.bars.data)
        for row, (each, colour, marker) in enumerate(colour_dots(dots, train_length)):
            values = getattr(each, outputs)
            rows["x"] += clip_to_axis(values, self.figure.x_range)
            rows["y"] += [row + 0.05 + 0.33 * _scatter(i) for i in range(len(values))]
            rows["real"] += values
            for column, value in (("colour", colour), ("marker", marker), ("length", each.length)):
                rows[column] += [value] * len(values)
            truths = sorted(set(getattr(each, truth)))
            bars["x"] += truths
            for column, value in (("top", row - 0.08), ("bottom", row - 0.36), ("length", each.length)):
                bars[column] += [value] * len(truths)
        self.dots.data, self.bars.data = rows, bars
        self.rows.ticks = list(range(len(dots)))
        self.figure.yaxis.major_label_overrides = {row: str(each.length) for row, each in enumerate(dots)}
        self.figure.y_range.update(start=-0.6, end=len(dots) - 0.4)


def colour_dots(dots: Sequence[Dots], train_length: int) -> list[tuple[Dots, str, str]]:
    """Return each length with its colour and marker: darker if longer, round for training lengths, else square."""
    markers = ["circle" if each.length <= train_length else "square" for each in dots]
    return list(zip(dots, ramp(len(dots)), markers, strict=True))


def find_range(values: Sequence[float]) -> tuple[float, float]:
    """Return the minimal and maximal value, widened if they are equal."""
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def clip_to_axis(values: Sequence[float], bounds: Range1d) -> list[float]:
    """Clip values to the axis, so that they are visible at its edge."""
    start, end = cast(tuple[float, float], (bounds.start, bounds.end))
    return [min(max(value, start), end) for value in values]


def _scatter(i: int) -> float:
    """Return a number between 0 and 1; the numbers of many i are spread evenly."""
    return i * 0.618033988749895 % 1


def _empty(*columns: str) -> dict[str, list]:
    return {column: [] for column in columns}
