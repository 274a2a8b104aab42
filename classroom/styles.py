"""How things look on the page: colours that colour-blind viewers tell apart, sizes that the back row can read."""

from typing import Any, NamedTuple

from bokeh.models import Title
from bokeh.plotting import figure as bokeh_figure

from synthlab.analysis import curves as plots

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
# Of lengths: the cool colours were trained on, the warm ones were not.
WITHIN, BEYOND = (plots.SKY, plots.BLUE, plots.GREEN), (plots.ORANGE, plots.RED)


class Line(NamedTuple):
    """How a run's curves are drawn."""

    colour: str
    dash: list[int]
    marker: str


THEORY = Line(INK, [4, 4], "x")


def line(order: int) -> Line:
    """The style of the run of that order, from 0: those of the lab's figures, again from the start after the last."""
    colour, dash, marker = plots.OTHERS[order % len(plots.OTHERS)]
    lengths = [] if isinstance(dash, str) else [round(2.5 * part) for part in dash[1]]
    return Line(colour, lengths, MARKERS[marker])


def tip(line: str) -> dict[str, Any]:
    """What a HoverTool says, at a size to be read: a line of Bokeh's template language. Numbers are printed with the
    digits that count."""
    return {
        "tooltips": f'<div class="tip" style="font-size:{TEXT};padding:2px 4px">{line}</div>',
        "formatters": {f"@{column}": "printf" for column in ("x", "y", "real", "weight")},
    }


def chart(title: str, x: str, y: str, **more) -> bokeh_figure:
    """An empty chart with legible text, nothing to be dragged by mistake, and no logo."""
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
