"""The pictures of docs/speed.md, from the committed measurements in docs/reference/: bench.json and gpu.json.

``python docs/speed_pictures.py`` draws them again.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthlab.styles import BLACK, BLUE, GREEN, GREY, MARKERS, NOTE_GREY, ORANGE, PURPLE, RC

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOCS = Path(__file__).parent
Rows = dict[str, Any]
PICTURES = ("core", "gpu")


def read_numbers(name: str) -> dict[str, Rows]:
    """Return the numbers of each row of a committed file."""
    rows = json.loads((DOCS / "reference" / f"{name}.json").read_text())["rows"]
    return {row["measure"]: row["numbers"] for row in rows if row["numbers"]}


def find(rows: dict[str, Rows], words: str) -> Rows:
    """Return the numbers of the row whose measure contains ``words``."""
    [found] = [numbers for measure, numbers in rows.items() if words in measure]
    return found


def write_value(axes: "Axes", text: str, x: float, y: float) -> None:
    """Write ``text`` to the right of a point."""
    axes.annotate(text, (x, y), (6, 0), textcoords="offset points", va="center", size=8)


def draw_core(axes: "Axes") -> None:
    """Draw points for each model: how many are trained an hour alone, in ensembles, and by a plain loop."""
    rows = read_numbers("bench")
    shown = {
        "default model": "default model, ensembles",
        "width 64, two layers": "two layers, ensembles",
        "language model,\nwindows of 64": "windows of 64",
        "language model,\nwindows of 256": "windows of 256",
        "copy": "copy",
        "sort": "sort",
    }
    looks = {
        "models_an_hour": ("ensembles", BLUE, "o"),
        "alone": ("one at a time", ORANGE, "s"),
        "plain": ("a plain PyTorch loop", GREY, "D"),
    }
    seen: set[str] = set()
    for place, words in enumerate(shown.values()):
        numbers = find(rows, words)
        for at, (key, number) in zip((place - 0.17, place + 0.17), numbers.items(), strict=True):
            label, colour, marker = looks[key]
            axes.plot(number, at, marker, color=colour, label=label if label not in seen else None)
            write_value(axes, f"{number:,}", number, at)
            seen.add(label)
    axes.set(xscale="log", xlim=(20, 5_000), xlabel="models trained an hour")
    axes.set_xticks([100, 1000], ["100", "1,000"])
    axes.set_yticks(range(len(shown)), list(shown))
    axes.invert_yaxis()
    axes.legend(frameon=False, loc="lower right")


def draw_gpu(axes: "Axes") -> None:
    """Draw a line for each model: how many are trained an hour, by the size of the ensemble."""
    colours = {"default model": BLUE, "width 64, two layers": ORANGE, "language model": GREEN, "copy": PURPLE}
    rows = read_numbers("gpu")
    for (name, colour), marker in zip(colours.items(), MARKERS, strict=False):
        found = [each for measure, each in rows.items() if measure.startswith(f"GPU: {name}, ") and "compiled" in each]
        points = [(each["models"], each["models_an_hour"]) for each in found if not each["compiled"]]
        compiled = [(each["models"], each["models_an_hour"]) for each in found if each["compiled"]]
        axes.plot(*zip(*points, strict=True), color=colour, marker=marker, lw=1.4, ms=4, label=name)
        axes.plot(*zip(*compiled, strict=True), color=colour, marker=marker, ms=7, mfc="white", ls="")
    axes.plot([], [], color=BLACK, marker="o", ms=7, mfc="white", ls="", label="compiled first")
    axes.set(xscale="log", yscale="log", xlim=(0.8, 30_000), ylim=(1e3, 1.2e6))
    axes.set(xlabel="models at a time", ylabel="models trained an hour")
    axes.set_xticks([1, 10, 100, 1000, 10_000], ["1", "10", "100", "1,000", "10,000"])
    axes.set_yticks([1e3, 1e4, 1e5, 1e6], ["1,000", "10,000", "100,000", "1,000,000"])
    axes.legend(frameon=False, loc="lower right")


def draw(name: str, path: Path) -> None:
    """Draw one picture and save it."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(7, 3.6), layout="constrained")
        axes = figure.add_subplot()
        (draw_core if name == "core" else draw_gpu)(axes)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=NOTE_GREY, labelcolor=BLACK)
        if name == "core":
            axes.grid(axis="y", color="0.9")
            axes.set_axisbelow(True)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    for name in PICTURES:
        draw(name, DOCS / f"speed_{name}.svg")
