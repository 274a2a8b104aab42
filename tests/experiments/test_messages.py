"""The picture that is each paper's message, from tables made by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.committed_verdicts import RUNS, TABLES, write_tables
from experiments.long_short_alignment.message import ROWS, STYLES
from experiments.messages import NAME, draw_message
from experiments.papers import papers
from experiments.reference import REFERENCE
from experiments.sequences.published import RANGE

MOST_BYTES = 150_000


def sequences(folder: Path, arms: dict[str, float], tasks: tuple[str, ...]) -> None:
    """Runs of three seeds, whose exact match and accuracy beyond training are the arm's number, and more by seed."""
    rows = [
        {"task": task, "arm": arm, "seed": seed, "run": f"{task}{arm}{seed}", "first": first, "last": first + 4}
        | {"exact": value + 0.01 * seed, "tokens": value + 0.01 * seed, "sequences": 10}
        for task in tasks
        for arm, value in arms.items()
        for seed in range(3)
        for first in (1, 6)
    ]
    write_tables(folder / RUNS, {"tasks": pd.DataFrame(rows).assign(**{"train_length": 5, RANGE: 0, "fit": True})})


def crasp(folder: Path) -> list[float]:
    rows = [
        {"task": task, "arm": arm, "expected": expects, "published": 0.25, "median": median, "fit": fit}
        for task, arm, expects, median, fit in (
            ("sort", "learned", True, 0.5, 5),
            ("sort", "nope", True, 0.75, 5),
            ("parity", "learned", False, 0.125, 0),
            ("parity", "nope", False, 0.375, 0),
        )
    ]
    write_tables(folder / TABLES, {"tasks_table": pd.DataFrame(rows).assign(last=20, **{RANGE: 0})})
    return [25, 50, 25, 75, 25, 12, 25, 38]


def nope(folder: Path) -> list[float]:
    arms = {"nope": 0.9, "t5": 0.7, "alibi": 0.5, "partial_rope": 0.3, "sinusoidal": 0.1}
    sequences(folder, arms, ("copy", "sort"))
    return [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]


def chomsky(folder: Path) -> list[float]:
    arms = {"learned": 0.2, "rope": 0.4, "randomized learned": 0.5, "randomized rope": 0.5}
    sequences(folder, arms, ("parity_check", "solve_equation", "bucket_sort"))
    return [0.3, 0.1] * 3


def long_short_alignment(folder: Path) -> list[float]:
    generator = np.random.default_rng(0)
    rows = pd.DataFrame({f"{name}_within": generator.normal(size=40) for name in STYLES})
    outcomes = {f"{outcome}_within": rows["sce_within"] for _, outcome, _ in ROWS}
    runs = rows.assign(**outcomes, setting=np.repeat(list("abcdefgh"), 5), encoding=np.resize(list("uvwxyz"), 40))
    write_tables(folder / RUNS, {study: runs.assign(seed=0) for study, *_ in ROWS})
    return [1.0] * len(ROWS)


def output_alignment(folder: Path) -> list[float]:
    def panel(*series: str) -> pd.DataFrame:
        rows = [{"series": name, "length": k, "median": 10.0 * i} for i, name in enumerate(series, 1) for k in (10, 50)]
        return pd.DataFrame(rows).assign(low=1.0, high=99.0, seeds=5, train_length=10)

    pairs = [{"encoding": e, "outrep": m, "median": 12.0} for e in ("nope", "rope") for m in ("identity", "log")]
    horizon = pd.DataFrame(pairs).assign(low=11, high=[12, 12, 12, 50], fit=[5, 5, 0, 5], seeds=5)
    horizon = horizon.assign(test_length=50, train_length=10)
    encodings = panel("nope", "rope")
    tables = {"figure1a": encodings, "figure1b": encodings, "figure1c_plus": panel("identity", "log")}
    write_tables(folder / TABLES, {**tables, "horizonlength": horizon})
    return [10, 20, 10, 20, 20]


MADE = {each.__name__: each for each in (crasp, nope, chomsky, long_short_alignment, output_alignment)}


def shown(name: str, figure) -> list[float]:
    """The numbers on the picture: those written in cells, or the points of encodings and maps."""
    if name == "crasp":
        by_place = [(axes, *reversed(text.get_position()), text) for axes in figure.axes for text in axes.texts]
        columns = sorted(by_place, key=lambda each: (figure.axes.index(each[0]), each[2], each[1]))
        return [float(text.get_text()) for *_, text in columns]
    colours = {"nope": slice(0, None, 2), "chomsky": slice(0, None)}.get(name, slice(0, None))
    axes = figure.axes[:1] if name in ("nope", "long_short_alignment") else figure.axes
    points = [line for each in axes for line in each.get_lines() if len(line.get_xdata()) == 1]
    if name == "long_short_alignment":
        points = [line for line in points if line.get_label() == STYLES["sce"].label]
    if name == "chomsky":
        points = [line for line in points if "median" in line.get_label()]
    return [float(line.get_xdata()[0]) for line in points[colours]]


@pytest.mark.parametrize("name", papers())
def test_message_shows_the_numbers_of_its_tables(name, tmp_path):
    paper = papers()[name]()
    assert draw_message(paper, tmp_path) is None
    expected = MADE[name](tmp_path)
    assert shown(name, paper.message(tmp_path)) == pytest.approx(expected, abs=0.51 if name == "crasp" else 1e-6)
    picture = draw_message(paper, tmp_path)
    assert picture is not None
    assert picture == draw_message(paper, tmp_path)


@pytest.mark.parametrize("name", papers())
def test_committed_messages(name):
    path = REFERENCE / name / NAME
    assert path.stat().st_size < MOST_BYTES
    page = (REFERENCE.parent / "findings.md").read_text()
    assert page.index(f"](reference/{name}/{NAME})") < page.index(f"<!-- findings_{name} -->")
