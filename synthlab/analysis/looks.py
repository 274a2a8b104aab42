"""How series look. Every encoding and every map keeps one colour, line style and marker on every picture."""

import re
from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from typing import Any, NamedTuple

from synthlab.analysis.names import MEMBERS, NAMES, find_members, name_series

# Okabe and Ito's colours, distinguishable by colour-blind readers; line style and marker distinguish them in grey.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK = "#CC79A7", "#56B4E9", "#000000"
# From Tol's muted scheme, where those seven are used.
INDIGO, WINE, OLIVE, GREY = "#332288", "#882255", "#999933", "#777777"
TEAL, ROSE, FOREST, SAND = "#44AA99", "#CC6677", "#117733", "#DDCC77"
BROWN, PLUM, NAVY, STEEL, MOSS = "#663300", "#AA4499", "#003366", "#6699CC", "#55591A"  # and of no scheme
# Of maps: black and violets to wine, hues that the encodings which share a sheet with maps do not have.
VIOLET, LILAC, MAGENTA, MAROON = "#5533CC", "#A583F0", "#AA2266", "#660022"
MUSTARD, DARK, MIDNIGHT, ORCHID, SILVER = "#808000", "#555555", "#222266", "#DD55DD", "#999999"

DOTS, DASHES, DASHDOT, LONG = (0, (1, 1.2)), (0, (4, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2))
LINES, MARKERS = ("-", DASHES, DASHDOT, DOTS, LONG), "os^DvPX"


class Style(NamedTuple):
    """How a series looks and what the legend calls it."""

    label: str
    colour: str
    line: str | tuple
    marker: str

    def line_options(self) -> dict[str, Any]:
        """Return what ``Axes.plot`` takes."""
        return {
            "label": self.label,
            "color": self.colour,
            "linestyle": self.line,
            "marker": self.marker,
            "markersize": 4,
            "lw": 1.4,
        }


LOOKS = {
    "nope": (ORANGE, "-", "o"),
    "alibi": (BLUE, DASHES, "s"),
    "rope": (GREEN, DASHDOT, "^"),
    "partial_rope": (STEEL, DOTS, "4"),
    "pi": (INDIGO, LONG, "<"),
    "ntk": (OLIVE, DOTS, ">"),
    "yarn": (WINE, "-", "p"),
    "eabf": (GREY, DASHES, "*"),
    "clex": (TEAL, "-", "h"),
    "dynamic_ntk": (MOSS, DASHDOT, "d"),
    "longrope": (ROSE, DASHES, "8"),
    "self_extend": (PLUM, "-", "H"),
    "rerope": (FOREST, DASHES, "3"),
    "leaky_rerope": (SAND, DASHDOT, "2"),
    "dual_chunk": (NAVY, DOTS, "1"),
    "learned": (RED, DOTS, "D"),
    "sinusoidal": (PURPLE, LONG, "v"),
    "t5": (SKY, DASHES, "P"),
    "randomized": (BROWN, DOTS, "X"),
    "identity": (BLACK, "-", "o"),
    "sqrt": (VIOLET, DASHES, "s"),
    "log": (LILAC, DASHDOT, "^"),
    "rsqrt": (MAGENTA, "-", "D"),
    "reciprocal": (MAROON, DOTS, "v"),
    "rlog": (MUSTARD, LONG, "P"),
    "power": (DARK, DASHES, "X"),
    "box_cox": (MIDNIGHT, "-", "*"),
    "monotone": (ORCHID, DASHDOT, "h"),
    "chosen": (SILVER, DASHES, "p"),
}
STYLES = {id: Style(NAMES[id], *look) for id, look in LOOKS.items()}
# For series without a style of their own: 7 colours, with other lines and markers in each cycle.
OTHERS = [
    (colour, line, marker)
    for turn in range(5)
    for colour, line, marker in zip(
        (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK),
        islice(cycle(LINES), turn, turn + 7),
        islice(cycle(MARKERS), turn, turn + 7),
        strict=True,
    )
]
RAMPS, LIGHTEST = ("cividis", "copper"), 0.76  # the colour maps of numbers, and how far into them the greatest lies
NUMBER = re.compile(r"(?<![A-Za-z0-9.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w/])")


def style_of(names: Sequence[str]) -> dict[str, Style]:
    """Return a style for each series.

    - An encoding or a map has its own. A variant of one, such as ``t5, 32 buckets``, has a shade of its colour and
      another line and marker.
    - Series that differ by one number, such as ``length=20`` and ``length=50``, are on a ramp from dark to light.
    - Any other has the next of a cycle, first those whose colours are free.
    """
    members = {name: MEMBERS.get(name.lower(), "") for name in names}
    looks = {name: LOOKS[member] for name, member in members.items() if member in LOOKS}
    looks |= _look_variants([name for name in names if name not in looks], {members[name] for name in looks})
    for turn, group in enumerate(group_by_number([name for name in names if name not in looks])):
        looks |= _look_ramp(group, turn)
    taken, unknown = {look[0] for look in looks.values()}, [name for name in names if name not in looks]
    others = sorted(OTHERS, key=lambda look: look[0] in taken)
    looks |= dict(zip(unknown, islice(cycle(others), len(unknown)), strict=True))
    return {name: STYLES.get(name) or Style(name_series(name), *looks[name]) for name in names}


def _look_variants(names: Iterable[str], known: set[str]) -> dict[str, tuple]:
    """Return the looks of names that mention a member: its own for the first, unless it is ``known`` to be taken."""
    found, uses = {}, dict.fromkeys(known, 1)
    for name in names:
        member = next(iter(find_members(name)), "")
        if member not in LOOKS:
            continue
        colour, line, marker = LOOKS[member]
        turn = uses.get(member, 0)
        lines, markers = list(dict.fromkeys([line, *LINES])), list(dict.fromkeys([marker, *MARKERS]))
        found[name] = (_shade(colour, turn), lines[turn % len(lines)], markers[turn % len(markers)])
        uses[member] = turn + 1
    return found


def _shade(colour: str, turn: int) -> str:
    """Return a dark colour lighter, and a light one darker, the more so the greater ``turn``; unchanged at 0."""
    parts = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    towards, share = (0 if max(parts) + min(parts) > 255 else 255), min(0.25 * turn, 0.6)
    return "#" + "".join(f"{round(part + share * (towards - part)):02x}" for part in parts) if turn else colour


def group_by_number(names: Iterable[str]) -> list[list[str]]:
    """Return the groups of two or more names that differ in one number only, sorted by it."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(NUMBER.sub("#", name), []).append(name)
    found = []
    for group in groups.values():
        numbers = list(zip(*(NUMBER.findall(name) for name in group), strict=True))
        varying = [each for each in numbers if len(set(each)) > 1]
        if len(varying) == 1:
            found.append([name for _, name in sorted(zip(map(float, varying[0]), group, strict=True))])
    return found


def _look_ramp(group: Sequence[str], turn: int) -> dict[str, tuple]:
    return {
        name: (colour, LINES[place % len(LINES)], MARKERS[place % len(MARKERS)])
        for place, (name, colour) in enumerate(zip(group, ramp(len(group), turn), strict=True), turn)
    }


def ramp(number: int, turn: int = 0) -> list[str]:
    """Return so many colours, from dark to light; others for another ``turn``, a second ramp on one sheet."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps[RAMPS[turn % len(RAMPS)]](LIGHTEST * k / max(number - 1, 1))) for k in range(number)]
