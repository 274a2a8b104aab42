"""The charts of one sequence: the model's prediction for each prefix, and its attention."""

# Bokeh's stubs refuse valid arguments of its models: a range's ends by position, a glyph's short names, columns that
# are lists, the attributes of a subclass.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false

from collections.abc import Sequence

from bokeh.models import (
    BoxAnnotation,
    ColorBar,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    LinearColorMapper,
    Range1d,
    Span,
)
from bokeh.palettes import Blues256

from classroom.charts.curves import find_range, points
from classroom.charts.styles import INK, SHADE, TEXT, Line, chart, tip
from classroom.messages import Reading

LABELLED = 26  # the most tokens of an attention picture that are all labelled


class SequenceChart:
    """Prediction and truth for every prefix of a sequence; a line marks the chosen length."""

    def __init__(self) -> None:
        self.figure = chart(
            "Answers along the sequence",
            "length read (symbols)",
            "",
            x_range=Range1d(0.5, 50.5),
            y_range=Range1d(0, 1),
        )
        self.shade = BoxAnnotation(left=0.5, fill_color=SHADE, fill_alpha=0.15, level="underlay")
        self.chosen = Span(dimension="height", line_color=INK, line_width=2, line_dash=[4, 4])
        self.figure.add_layout(self.shade)
        self.figure.add_layout(self.chosen)
        self.truth, self.answers = (ColumnDataSource(points([], [], "")) for _ in range(2))
        self.figure.line("x", "y", source=self.truth, color=INK, width=2, line_dash=[6, 4], legend_label="truth")
        self.line = self.figure.line("x", "y", source=self.answers, color=SHADE, width=3, legend_label="model")
        self.marks = self.figure.scatter("x", "y", source=self.answers, size=6, legend_label="model")
        said = tip("length @x{%d}: the model says @y{%.3g}")
        self.figure.add_tools(HoverTool(**said, renderers=[self.marks], limit=1))
        self.figure.legend.location = "top_left"
        self.figure.legend.label_text_font_size = TEXT
        self.figure.legend.background_fill_alpha = 0.7

    def clear(self) -> None:
        """Show nothing."""
        self.truth.data = self.answers.data = _line([], [])
        self.shade.visible = self.chosen.visible = False

    def update(self, reading: Reading, train_length: int, style: Line) -> None:
        """Show a model's predictions for a sequence, in the style of the model's curves."""
        self.line.glyph.line_color, self.marks.glyph.marker = style.colour, style.marker
        self.marks.glyph.fill_color = self.marks.glyph.line_color = style.colour
        lengths = range(1, len(reading.truth) + 1)
        self.figure.x_range.update(start=0.5, end=len(reading.truth) + 0.5)
        self.shade.update(right=train_length + 0.5, visible=True)
        self.chosen.update(location=reading.length, visible=True)
        low, high = find_range([*reading.truth, *reading.answers])
        self.figure.y_range.update(start=low - 0.05 * (high - low), end=high + 0.05 * (high - low))
        self.truth.data = _line(lengths, reading.truth)
        self.answers.data = _line(lengths, reading.answers)


class AttentionChart:
    """Attention of the readout to each token; a row for each head."""

    def __init__(self) -> None:
        self.figure = chart(
            "Where the answer looks", "token", "attention head", x_range=Range1d(-0.5, 1), y_range=Range1d(-0.5, 0.5)
        )
        self.colours = LinearColorMapper(palette=list(reversed(Blues256)), low=0, high=1)
        self.cells = ColumnDataSource({"token": [], "head": [], "weight": [], "symbol": []})
        drawn = self.figure.rect(
            *("token", "head", 1, 0.9),
            source=self.cells,
            fill_color={"field": "weight", "transform": self.colours},
            line_color="#d0d0d0",
        )
        said = tip("head @head looks at @symbol with weight @weight{%.3f}")
        self.figure.add_tools(HoverTool(**said, renderers=[drawn]))
        text = {"major_label_text_font_size": TEXT, "title_text_font_size": TEXT, "title_text_font_style": "normal"}
        bar = ColorBar(color_mapper=self.colours, title="share", width=12, padding=4, bar_line_color=None, **text)
        self.figure.add_layout(bar, "right")
        self.figure.grid.grid_line_color = None
        self.heads = self.figure.yaxis.ticker = FixedTicker(ticks=[])
        self.places = self.figure.xaxis.ticker = FixedTicker(ticks=[])

    def clear(self) -> None:
        """Show nothing."""
        self.cells.data = {key: [] for key in self.cells.data}
        self.heads.ticks = self.places.ticks = []

    def update(self, reading: Reading) -> None:
        """Show this sequence."""
        tokens = ["BOS", *reading.symbols[: reading.length], "EOS"]
        heads = len(reading.attention)
        names = [
            token if token in ("BOS", "EOS") else f"{token} (symbol {place})" for place, token in enumerate(tokens)
        ]
        self.cells.data = {
            "token": [*range(len(tokens))] * heads,
            "head": [head + 1 for head in range(heads) for _ in tokens],
            "weight": [weight for weights in reading.attention for weight in weights],
            "symbol": names * heads,
        }
        self.colours.high = max(self.cells.data["weight"], default=1)
        self.figure.x_range.update(start=-0.6, end=len(tokens) - 0.4)
        self.figure.y_range.update(start=0.4, end=max(heads, 1) + 0.6)
        self.heads.ticks = list(range(1, heads + 1))
        labels = dict(enumerate(tokens))
        if len(tokens) > LABELLED:  # then only every tenth is labelled, with its number
            last = len(tokens) - 1
            labels = {place: str(place) for place in range(10, last - 2, 10)} | {0: "BOS", last: "EOS"}
        self.places.ticks = sorted(labels)
        self.figure.xaxis.major_label_overrides = labels
        self.figure.xaxis.major_label_orientation = "vertical" if 14 < len(tokens) <= LABELLED else "horizontal"


def _line(x: Sequence[int], y: Sequence[float]) -> dict[str, list]:
    return points(x, y, "") | {"y": list(y)}
