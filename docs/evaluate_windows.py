"""The picture of the documentation: which tokens count with which context under each definition.

``python docs/evaluate_windows.py`` draws it again.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from synthlab.huggingface.perplexity.windows import ScoredWindow, rules
from synthlab.styles import RC

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOKENS, LENGTH, LONGEST, STRIDE = 20, 6, 8, 2
TITLES = {
    "disjoint": "disjoint: contexts 1 to $L-1$, each equally often",
    "strided": "strided, $S={stride}$: contexts $L-S$ to $L-1$ after the first window",
    "sliding": "sliding: context $L-1$, every token from the $L_{{max}}$-th on",
    "last": "last: context $L-1$, one token per piece of $L_{{max}}$ tokens",
}
READ, COUNTED, IDLE = "#cfe3f1", "#0072B2", "white"


def draw(path: Path | None = None) -> "Figure":
    """A panel for each definition: a row for each window, a box for each token that it covers.

    Args:
        path: Where to save it; None saves nothing.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    windows = {name: rule.cut(TOKENS) for name, rule in rules(LENGTH, LONGEST, STRIDE).items()}
    with mpl.rc_context(RC):
        figure = Figure(figsize=(8.4, 5.4), layout="constrained")
        heights = [max(map(len, pair)) for pair in zip(*[iter(windows.values())] * 2, strict=True)]
        grid = figure.subplots(2, 2, height_ratios=[height + 2 for height in heights])
        for number, (axes, (name, found)) in enumerate(zip(grid.flat, windows.items(), strict=True)):
            axes.set_title(TITLES[name].format(stride=STRIDE), fontsize="medium", loc="left")
            _draw_windows(axes, found, TOKENS, heights[number // 2])
        figure.supxlabel(
            f"A document of {TOKENS} tokens, $L={LENGTH}$, $L_{{max}}={LONGEST}$. Each row is a window. "
            "Dark: scored token, with its number of context tokens. Light: context only. Axis: token, from 0.",
            fontsize="small",
            color="0.35",
        )
        if path is not None:
            figure.savefig(path, metadata={"Software": None})
    return figure


def _draw_windows(axes: "Axes", windows: list[ScoredWindow], tokens: int, rows: int) -> None:
    from matplotlib.patches import Rectangle

    for row, window in enumerate(windows):
        for token in range(window.start, window.end):
            counts = token >= window.end - window.counted
            axes.add_patch(Rectangle((token, row), 0.92, 0.86, fc=COUNTED if counts else READ, ec="none"))
            if counts:
                axes.text(
                    token + 0.46, row + 0.43, str(token - window.start), size=6.5, color=IDLE, ha="center", va="center"
                )
    axes.set_xlim(0, tokens)
    axes.set_ylim(rows, 0)
    axes.set_xticks([place + 0.46 for place in range(0, tokens, 2)], [str(place) for place in range(0, tokens, 2)])
    axes.set_yticks([])
    axes.tick_params(length=0, labelsize="x-small")
    for side in axes.spines.values():
        side.set_visible(False)


if __name__ == "__main__":
    draw(Path(__file__).with_suffix(".png"))
