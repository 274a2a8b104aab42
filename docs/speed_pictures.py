"""The pictures of docs/speed.md, from the committed measurements in docs/reference/: bench.json and gpu.json.

``python docs/speed_pictures.py`` draws them again.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthlab.styles import BLACK, BLUE, GREEN, GREY, MARKERS, NOTE_GREY, ORANGE, PURPLE, RC, SKY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOCS = Path(__file__).parent
Rows = dict[str, Any]
# Shares of time by torch's profiler on a core (docs/speed.md), in percent.
PROFILES = {
    "one core: default model, ensemble of 20": {"matrix products": 37, "GELU": 18, "other operations": 45},
    "one core: language model, alone": {"matrix products": 45, "attention": 16, "other operations": 39},
}


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


def draw_laptop(axes: "Axes") -> None:
    """Draw a point for each command: the seconds that a user waits."""
    rows = read_numbers("bench")
    shown = {
        "one step, start-up included": "start-up",
        "a run of the classroom": "classroom",
        "a default run": "one run",
        "a sweep of 80 runs": "time of a sweep",
        "a paper's figures, 170 runs": "figures 1",
    }
    for place, words in enumerate(shown.values()):
        seconds = find(rows, words)["seconds"]
        axes.plot(seconds, place, "o", color=BLUE)
        write_value(axes, f"{seconds:g} s", seconds, place)
    axes.set(xscale="log", xlim=(1, 600), xlabel="time until the command ends")
    axes.set_xticks([1, 10, 60, 300], ["1 s", "10 s", "1 min", "5 min"])
    axes.minorticks_off()
    axes.set_yticks(range(len(shown)), list(shown))
    axes.set_ylim(len(shown) - 0.5, -0.5)


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


def draw_limits(axes: "Axes") -> None:
    """Draw where the time goes: a bar for each machine, of shares that sum to 100 %."""
    lost = 100 * find(read_numbers("bench"), "time of a sweep")["share"]
    reference = [each for measure, each in read_numbers("gpu").items() if "the reference's" in measure]
    training, rest = (sum(each[name] for each in reference) for name in ("training", "beginning_and_testing"))
    reference_shares = {"training": training / (training + rest), "start, test": rest / (training + rest)}
    bars = PROFILES | {
        "two cores: a sweep of 80 runs": {"training and testing": 100 - lost, "start and wait": lost},
        "GPU: the whole reference": {name: 100 * share for name, share in reference_shares.items()},
    }
    colours = {"matrix products": BLUE, "training": BLUE, "training and testing": BLUE, "GELU": ORANGE}
    colours |= {"attention": SKY, "start, test": GREEN, "start and wait": GREEN, "other operations": "0.75"}
    for place, shares in enumerate(bars.values()):
        left = 0.0
        for name, share in shares.items():
            axes.barh(place, share, 0.6, left, color=colours[name], ec="white")
            if share < 15:
                write_value(axes, f"{name} {share:.0f} %", 100, place)
            else:
                colour = "white" if colours[name] == BLUE else BLACK
                text = f"{name}\n{share:.0f} %"
                axes.text(left + share / 2, place, text, ha="center", va="center", color=colour, size=8)
            left += share
    axes.set(xlim=(0, 100), xlabel="share of the time, %")
    axes.set_yticks(range(len(bars)), list(bars))
    axes.invert_yaxis()


PICTURES: dict[str, tuple[Callable[["Axes"], None], tuple[float, float]]] = {
    "core": (draw_core, (7, 3.6)),
    "laptop": (draw_laptop, (7, 2.2)),
    "gpu": (draw_gpu, (7, 3.6)),
    "limits": (draw_limits, (7.6, 2.4)),
}


def draw(name: str, path: Path) -> None:
    """Draw one picture and save it."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    paint, size = PICTURES[name]
    with mpl.rc_context(RC):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        paint(axes)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=NOTE_GREY, labelcolor=BLACK)
        if name in ("core", "laptop"):
            axes.grid(axis="y", color="0.9")
            axes.set_axisbelow(True)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    for name in PICTURES:
        draw(name, DOCS / f"speed_{name}.svg")
