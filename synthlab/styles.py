"""The style of figures: colours, lines and markers, and the settings of Matplotlib.

Each encoding and map has a ``Style`` of its own, which it keeps on every figure.
"""

from typing import Any, NamedTuple

# Okabe and Ito's colours, distinguishable by colour-blind readers; line style and marker distinguish them in grey.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK = "#CC79A7", "#56B4E9", "#000000"
# From Tol's muted scheme, where those seven are used.
INDIGO, WINE, OLIVE, GREY = "#332288", "#882255", "#999933", "#777777"
TEAL, ROSE, FOREST, SAND = "#44AA99", "#CC6677", "#117733", "#DDCC77"
BROWN, PLUM, NAVY, STEEL, MOSS = "#663300", "#AA4499", "#003366", "#6699CC", "#55591A"  # and of no scheme
CORAL, SLATE, JADE, GOLD, CYAN = "#EE7766", "#556677", "#00A878", "#B8860B", "#0097A7"
BRICK, LAVENDER, PINE, COPPER = "#A0402A", "#9080C0", "#2F5D50", "#B06A3B"
CLAY, PEACH, INK, SEA, FERN, BERRY, KHAKI = "#C46210", "#F4A582", "#22406A", "#1B7F9C", "#5AAE61", "#C51B7D", "#8C8C3A"
# Of maps: black and violets to wine, hues that the encodings on the same figure do not have.
VIOLET, LILAC, MAGENTA, MAROON = "#5533CC", "#A583F0", "#AA2266", "#660022"
MUSTARD, DARK, MIDNIGHT, ORCHID, SILVER = "#808000", "#555555", "#222266", "#DD55DD", "#999999"

DOTS, DASHES, DASHDOT, LONG = (0, (1, 1.2)), (0, (4, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2))
LINES, MARKERS = ("-", DASHES, DASHDOT, DOTS, LONG), "os^DvPX"
NOTE_GREY = "0.35"  # the grey of notes
RAMPS, RAMP_END = ("cividis", "copper"), 0.76  # the colour maps of numbers, and how far into them the greatest lies

PIXELS, WIDTH = 96, 896  # of an inch of a page, and of its column
# Text stays text in the PDF, and files depend neither on the time nor on chance.
RC: dict[Any, Any] = {
    "pdf.fonttype": 42,
    "svg.hashsalt": "synthlab",
    "font.size": 9,
    "axes.titlesize": 9,
    "savefig.dpi": 2 * PIXELS,  # twice the density of a page
}


class Style(NamedTuple):
    """How a series looks and what the legend calls it. An encoding or a map has one as its attribute ``style``."""

    label: str
    colour: str
    line: str | tuple
    marker: str

    def vary(self, turn: int) -> "Style":
        """Return a variant: another shade, line and marker. It is the style itself at ``turn`` 0.

        A dark colour gets lighter, and a light one darker.
        """
        if not turn:
            return self
        parts = [int(self.colour[k : k + 2], 16) for k in (1, 3, 5)]
        towards, share = (0 if max(parts) + min(parts) > 255 else 255), min(0.25 * turn, 0.6)
        shade = "#" + "".join(f"{round(part + share * (towards - part)):02x}" for part in parts)
        lines, markers = list(dict.fromkeys([self.line, *LINES])), list(dict.fromkeys([self.marker, *MARKERS]))
        return Style(self.label, shade, lines[turn % len(lines)], markers[turn % len(markers)])


# For series without a style of their own: 7 colours, with other lines and markers in each cycle.
OTHERS = [
    Style("", colour, LINES[(turn + place) % len(LINES)], MARKERS[(turn + place) % len(MARKERS)])
    for turn in range(5)
    for place, colour in enumerate((BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK))
]


def ramp(number: int, turn: int = 0) -> list[str]:
    """Return so many colours, from dark to light; others for another ``turn``, a second ramp on one figure."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps[RAMPS[turn % len(RAMPS)]](RAMP_END * k / max(number - 1, 1))) for k in range(number)]
