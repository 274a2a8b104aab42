"""The message of a paper: one picture, drawn from its committed tables alone, as wide as a page shows it."""

from io import BytesIO
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

from synthlab.analysis.plotting import PAGE
from synthlab.studies.study import Paper
from synthlab.styles import PIXELS, RC, WIDTH

NAME = "message.png"
ASIDE = 0.16  # of a row, between points of one row
DENSE = 2  # pixels of a picture for each of a page
MOST_BYTES = 150_000


def new_figure(height: float) -> Figure:
    """Return a figure as wide as a page, with room for panels that are so many inches high."""
    return Figure(figsize=(PAGE, height), layout="constrained")


def draw_message(paper: Paper, folder: Path) -> bytes | None:
    """Return a paper's picture as a PNG; None where the ``folder`` lacks its tables.

    The same tables give the same bytes.
    """
    drawn = BytesIO()
    with mpl.rc_context(RC):
        figure = paper.message(folder)
        if figure is None:
            return None
        figure.savefig(drawn, dpi=DENSE * PIXELS, metadata={"Software": None})
    return compress(drawn)


def compress(picture: BytesIO | Path) -> bytes:
    """Return a PNG at most ``DENSE`` times as wide as a page's column, with 128 colours; 64 if it is too large."""
    with Image.open(picture) as opened:
        drawn = opened.convert("RGB")
    width = min(drawn.width, DENSE * WIDTH)
    if width < drawn.width:
        drawn = drawn.resize((width, round(drawn.height * width / drawn.width)), Image.Resampling.LANCZOS)
    for colors in (128, 64):
        small = BytesIO()
        # The default method weighs colours by their frequency, and so gives thin lines the colour of others.
        few = drawn.quantize(colors, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
        few.save(small, "PNG", optimize=True)
        if small.tell() < MOST_BYTES:
            break
    return small.getvalue()
