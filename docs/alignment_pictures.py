"""The pictures of docs/alignment_results.md and docs/extension_results.md, from the committed tables of their runs.

``python docs/alignment_pictures.py`` draws them again.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from experiments.committed_verdicts import RUNS, TABLES, read_tables
from synthlab.styles import BLUE, GREY, NOTE_GREY, RC, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOCS = Path(__file__).parent
COMMITTED = DOCS / "reference" / "long_short_alignment"
PUBLISHED = -0.04  # the paper's change of the log of perplexity
APART = {"dynamic NTK": 0.07, "PI": -0.08, "CLEX": -0.04}  # nats by which names of lines move that end close together
MAPS = ("Self-Extend", "ReRoPE", "leaky ReRoPE", "dual chunk")


def find_changes() -> dict[str, pd.Series]:
    """Return how weight 0.1 changes the loss after 3 to 4 training lengths, in nats: a number for each seed."""
    tables = read_tables(COMMITTED / RUNS)
    others = tables["regularized"][tables["regularized"]["extension"].isin(["clex", "ntk"])]
    changes = {}
    for variant, runs in pd.concat([tables["finetune"], others]).groupby("variant", sort=False):
        losses = runs.pivot(index="seed", columns="alignment.alpha", values="loss_4x")
        name, _, rest = str(variant).partition(", fine-tuned ")
        name = {"pi": "PI", "ntk": "NTK", "yarn": "YaRN", "eabf": "EABF", "clex": "CLEX"}[name]
        changes[f"{name}, {rest.partition(',')[0]}"] = losses[0.1] - losses[0.0]
    return changes


def draw_regularizer(axes: "Axes") -> None:
    """Draw a row for each method, with a point for each seed."""
    changes = find_changes()
    for place, values in enumerate(changes.values()):
        colours = [RED if change > 0 else BLUE for change in values]
        axes.scatter(values, [place] * len(values), c=colours, s=28, zorder=3)
    axes.axvline(0, color="0.5", lw=1)
    axes.axvline(PUBLISHED, color="black", lw=1, ls=(0, (4, 3)))
    axes.text(PUBLISHED, -0.9, "  published", color="black", va="center")
    axes.set_yticks(range(len(changes)), list(changes))
    axes.set(xlabel="change of the loss after 3 to 4 training lengths, nats (right of 0: worse)", ylim=(-1.4, None))
    axes.invert_yaxis()
    axes.set_title("Weight 0.1 raises the loss in every run under PI, YaRN and EABF", loc="left")


def draw_untrained(axes: "Axes") -> None:
    """Draw the loss by context of each method, named at its end."""
    table = read_tables(COMMITTED / TABLES)["untrained_loss"]
    longest = table["length"].max()
    axes.axvspan(0, 64, color="0.9", lw=0)
    axes.text(32, 2.4, "training\nlengths", ha="center", color=NOTE_GREY)
    for series, rows in table.groupby("series"):
        colour = BLUE if series in MAPS else RED if series == "RoPE" else GREY
        means = rows.groupby((rows["length"] - 1) // 32)[["length", "median"]].mean()
        axes.plot(means["length"], means["median"], color=colour, lw=1.8)
        if series not in MAPS:
            height = means["median"].iloc[-1] + APART.get(str(series), 0)
            axes.text(longest + 8, height, series, color=colour, va="center")
    axes.text(longest + 8, 1.71, "Self-Extend, ReRoPE,\nleaky ReRoPE, dual chunk", color=BLUE, va="center")
    axes.set(xlabel="tokens before the predicted one", ylabel="loss, nats", xlim=(0, longest))
    axes.set_title("Four maps of positions keep the loss flat without training", loc="left")


def draw_all(folder: Path = DOCS) -> None:
    """Draw both pictures and save them."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    for name, draw, right in (("regularizer", draw_regularizer, 0.98), ("untrained", draw_untrained, 0.74)):
        with mpl.rc_context(RC):
            figure = Figure(figsize=(7.6, 3.4))
            axes = figure.add_axes((0.15, 0.15, right - 0.15, 0.75))
            draw(axes)
            axes.spines[["top", "right"]].set_visible(False)
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    draw_all()
