"""Styles of the page: colours that colour-blind viewers can distinguish, text that the back row can read."""

from typing import Any, NamedTuple

from bokeh.models import Title
from bokeh.palettes import Viridis256, linear_palette
from bokeh.plotting import figure as bokeh_figure

from synthlab.styles import OTHERS

MARKERS = {
    "o": "circle",
    "s": "square",
    "^": "triangle",
    "D": "diamond",
    "v": "inverted_triangle",
    "P": "square_cross",
    "X": "circle_x",
}
TEXT, TITLE = "15px", "17px"
INK, SHADE = "#1a1a1a", "#595959"
# Colours of test lengths, from short to long, without the yellow end, which is invisible on white.
RAMP = Viridis256[215::-1]


class Line(NamedTuple):
    """The style of a run's curves."""

    colour: str
    dash: list[int]
    marker: str


THEORY = Line(INK, [4, 4], "x")


def line(order: int) -> Line:
    """Return the style number ``order``, from 0: those of the lab's figures, repeated after the last."""
    _, colour, dash, marker = OTHERS[order % len(OTHERS)]
    lengths = [] if isinstance(dash, str) else [round(2.5 * part) for part in dash[1]]
    return Line(colour, lengths, MARKERS[marker])


def ramp(count: int) -> list[str]:
    """Return ``count`` colours of lengths, from light to dark."""
    return list(linear_palette(RAMP, count))


def tip(line: str) -> dict[str, Any]:
    """Return the arguments of a HoverTool with legible text.

    ``line`` is in Bokeh's template language; its numbers take printf formats.
    """
    return {
        "tooltips": f'<div class="tip" style="font-size:{TEXT};padding:2px 4px">{line}</div>',
        "formatters": {f"@{column}": "printf" for column in ("x", "y", "real", "weight")},
    }


def chart(title: str, x: str, y: str, **more) -> bokeh_figure:
    """Return an empty chart with legible text, without tools and logo, so that nothing can be dragged by mistake."""
    made = bokeh_figure(
        sizing_mode="stretch_both",
        toolbar_location=None,
        tools="",
        min_width=200,
        min_height=180,
        x_axis_label=x,
        y_axis_label=y,
        output_backend="canvas",
        **more,
    )
    made.title = Title(text=title, text_font_size=TITLE, text_color=INK, text_font="sans-serif")
    for axis in made.axis:
        axis.axis_label_text_font_size = axis.major_label_text_font_size = TEXT
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_color = axis.major_label_text_color = INK
        axis.axis_label_standoff = 4
        if hasattr(axis.ticker, "desired_num_ticks"):
            axis.ticker.desired_num_ticks = 4  # pyright: ignore[reportAttributeAccessIssue]  # hasattr says so
    made.grid.grid_line_color = "#e5e5e5"
    made.min_border_right = 14
    return made
