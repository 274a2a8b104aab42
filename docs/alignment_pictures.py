"""The pictures of docs/alignment_results.md and docs/extension_results.md, from the committed tables of their runs.

``python docs/alignment_pictures.py`` draws them again.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from experiments.committed_verdicts import RUNS, read_tables
from experiments.long_short_alignment.page_tables import select_last_tokens
from synthlab.styles import BLUE, GREY, NOTE_GREY, RC, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOCS = Path(__file__).parent
COMMITTED = DOCS / "reference" / "long_short_alignment"
PUBLISHED = -0.04  # the paper's change of the log of perplexity
DASHES = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))  # of methods in grey
# Nats by which names of lines move that end close together.
APART = {"RoPE": 0.02, "dynamic NTK": 0.06, "NTK": -0.01, "PI": -0.01}
NAMES = {"pi": "PI", "ntk": "NTK", "yarn": "YaRN", "eabf": "EABF", "clex": "CLEX"}
MAPS = ("Self-Extend", "ReRoPE", "leaky ReRoPE", "dual chunk")
LOSSES = {"loss_1x": 0.5, "loss_2x": 1.5, "loss_4x": 3.5, "loss_8x": 7.5}  # by the middle of their context, in windows
LONGEST = 8


def find_changes() -> dict[str, pd.Series]:
    """Return how weight 0.1 changes the loss after 3 to 4 training lengths, in nats: a number for each seed."""
    tables = read_tables(COMMITTED / RUNS)
    runs = pd.concat([tables["finetune"], tables["entropy_bonus"]])
    changes = {}
    for (extension, steps), of_case in runs.groupby(["extension", "finetune.steps"], sort=False):
        losses = of_case.pivot(index="seed", columns="arm", values="loss_4x")
        changes[f"{NAMES[str(extension)]}, {steps:g} steps"] = losses["alpha 0.1"] - losses["alpha 0"]
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
    axes.set_title("Weight 0.1 raises the loss in 63 of 68 models", loc="left")


def draw_untrained(axes: "Axes") -> None:
    """Draw the losses of each method that the page's table has, named at their end."""
    runs, looks = read_tables(COMMITTED / RUNS), iter(DASHES)
    axes.axvspan(0, 1, color="0.9", lw=0)
    axes.text(0.5, 2.4, "trained\non", ha="center", color=NOTE_GREY)
    for arm, of_arm in runs["untrained"].groupby("arm"):
        colour = BLUE if arm in MAPS else RED if arm == "RoPE" else GREY
        losses = of_arm[[*LOSSES]].median()
        dashes = next(looks) if colour == GREY else "-"
        axes.plot([*LOSSES.values()], losses, color=colour, lw=1.2, ls=dashes, marker="o", ms=3)
        if arm not in MAPS:
            height = losses["loss_8x"] + APART.get(str(arm), 0)
            axes.text(LONGEST + 0.12, height, str(arm), color=colour, va="center")
    losses = select_last_tokens(runs["untrained"], runs["far_tokens"])[[*LOSSES]].median()
    axes.plot([*LOSSES.values()], losses, "o", color="black", ms=4, zorder=3)
    axes.text(7.5, 1.56, "RoPE, last N tokens", ha="right", va="top")
    axes.text(LONGEST + 0.12, 1.73, "Self-Extend, ReRoPE,\nleaky ReRoPE, dual chunk", color=BLUE, va="center")
    axes.set(xlabel="tokens before the predicted one, in multiples of N", ylabel="loss, nats")
    axes.set(xlim=(0, LONGEST), ylim=(1.4, None))
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
