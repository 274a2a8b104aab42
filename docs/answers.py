"""The picture of the README: a model's answer against the true length, from the committed table docs/answers.csv.

``python docs/answers.py`` draws it again. ``python docs/answers.py RESULTS`` first makes the table again, from the
runs of ``synthlab sweep task=length encoding=nope outrep=identity,reciprocal 'seed=range(20)' results=RESULTS``.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from synthlab.styles import BLUE, NOTE_GREY, RC, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOCS = Path(__file__).parent
TABLE, PICTURE = DOCS / "answers.csv", DOCS / "answers.svg"
TARGETS = {"identity": ("x", RED), "reciprocal": ("1/x", BLUE)}  # what each map trains on, and its colour


def collect_answers(results: str) -> pd.DataFrame:
    """Return the mean answer at each length, by map: least, quartiles, median and greatest over seeds."""
    import synthlab

    runs = synthlab.load_records(results, where="task=length,encoding=nope,outrep=identity,reciprocal")
    answers = (runs["length"] + runs["bias"]).groupby([runs["outrep"], runs["train_length"], runs["length"]])
    table = answers.quantile(np.linspace(0, 1, 5)).unstack().round(3)
    table.columns = ["least", "lower", "median", "upper", "greatest"]
    return table.assign(seeds=answers.size())


def draw(path: Path = PICTURE) -> None:
    """Draw the answers on linear axes, with bands of all seeds and of the middle half, and save them."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(RC), mpl.rc_context({"font.size": 12}):
        figure = Figure(figsize=(7.8, 3.0))
        draw_answers(figure.add_axes((0.075, 0.17, 0.645, 0.81)), pd.read_csv(TABLE))
        figure.savefig(path, metadata={"Date": None})


def draw_answers(axes: "Axes", table: pd.DataFrame) -> None:
    """Draw a line and two bands for each map, named at its end, the diagonal and the training lengths."""
    longest, trained = table["length"].max(), table["train_length"].max()
    axes.axvspan(1, trained, color="0.9", lw=0)
    axes.text((1 + trained) / 2, 78, "training\nlengths", ha="center", va="top", color=NOTE_GREY)
    axes.plot([1, longest], [1, longest], color="black", lw=1, ls=(0, (4, 3)), zorder=3)
    name_end(axes, "the true length", longest, longest, "black", "bottom")
    for (outrep, (target, colour)), place in zip(TARGETS.items(), ("center", "top"), strict=True):
        rows = table[table["outrep"] == outrep]
        for low, high in (("least", "greatest"), ("lower", "upper")):
            axes.fill_between(rows["length"], rows[low], rows[high], color=colour, alpha=0.2, lw=0)
        axes.plot(rows["length"], rows["median"], color=colour, lw=2.5)
        last = rows.iloc[-1]
        answers = f"{last['median']:.0f} ({last['least']:.0f} to {last['greatest']:.0f})"
        name_end(axes, f"trained on {target}:\nanswers {answers}", longest, last["median"], colour, place)
    axes.set(xlim=(0, longest), ylim=(0, 80), xlabel="true length", ylabel="the model's answer")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=NOTE_GREY, labelcolor="black")


def name_end(axes: "Axes", text: str, x: float, y: float, colour: str, place: str) -> None:
    """Write ``text`` to the right of a line's end: above, below or level with it, by its vertical alignment."""
    offset = {"bottom": 2, "top": -2}.get(place, 0)
    axes.annotate(text, (x, y), (8, offset), textcoords="offset points", va=place, color=colour)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        collect_answers(sys.argv[1]).to_csv(TABLE)
    draw()
