import re
from io import StringIO

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from support.records import encoded, made, record
from synthlab.analysis.comparison import gather_points
from synthlab.analysis.record_list import Records
from synthlab.compare import compare
from synthlab.errors import InputError


def mapped(name: str, shift=0.0, **arguments) -> dict:
    return {"outrep": {"name": name, "shift": shift, **arguments}}


def table(*runs: list) -> pd.DataFrame:
    return Records(one for some in runs for one in some).table()


def comparison(runs, metric="mse", x="length", by=None, facet=None, length=None):
    return gather_points(runs, metric, x, by, facet, length)


def points(runs, columns=None, **asked):
    """What the command writes, read back; or only the rows of some columns."""
    found = pd.read_csv(StringIO(comparison(runs, **asked).csv()), keep_default_na=False)
    return found if columns is None else found[columns.split()].to_numpy().tolist()


def note(runs, **asked) -> str:
    return "; ".join(comparison(runs, **asked).remarks)


def drawn(runs, **asked):
    figure = compare(runs, **asked)
    figure.canvas.draw()
    plt.close(figure)
    return figure


TRAINED = table(made(1, train_length=5, test_length=8), made(10))  # under two training lengths


def test_points_are_medians_over_seeds():
    runs = table(made(10, **encoded("alibi")), made(1))
    assert list(points(runs)) == ["metric", "encoding", "length", "median", "low", "high", "runs", "pooled_over"]
    third = [row[2:] for row in points(runs, "encoding length median low high runs pooled_over") if row[1] == 3]
    assert third == [[6, 3, 9, 3, ""], [60, 30, 90, 3, ""]]
    assert points(runs, "metric encoding length")[:13:12] == [["mse", "nope", 1], ["mse", "alibi", 1]]


def test_against_a_setting_the_longest_length_counts():
    found = points(TRAINED, "length train_length median low high", x="train_length", by="")
    assert found == [["8 to 12", 5, 16, 8, 24], ["8 to 12", 10, 240, 120, 360]]


@pytest.mark.parametrize("length", [[12, 4], pytest.param("12, 4", marks=pytest.mark.slow)])
def test_several_lengths_make_a_series_each(length):
    asked = {"x": "train_length", "by": "", "length": length}
    assert points(TRAINED, "length train_length median", **asked) == [[4, 5, 8], [4, 10, 80], [12, 10, 240]]
    assert "left out: 3 runs with no finite mse at length 12" in note(TRAINED, **asked)


def test_pooled_medians_say_so():
    runs = table(made(1, train_length=5), made(10), made(100, **encoded("alibi")))
    assert note(runs).startswith("median of 3 seeds, band from least to greatest; trained on the shaded lengths")
    assert "pooled" not in note(runs)
    assert note(runs, by="encoding").startswith("median of 3 to 6 runs, band")
    assert "pooled over train_length" in note(runs, by="encoding").split("; ")
    assert "pooled over encoding, train_length" in note(runs, by="").split("; ")
    at_two = points(runs, "encoding median runs pooled_over", by="encoding")[1:14:12]
    assert at_two == [["nope", (6 + 20) / 2, 6, "train_length"], ["alibi", 400, 3, ""]]


def test_what_is_left_out_is_counted():
    failed = table([record(8, diverged_at=2)]).assign(status="failed")
    runs = pd.concat([table(made(1), [record(seed, diverged_at=2) for seed in (5, 6)]), failed])
    assert note(runs).endswith("left out: 2 diverged runs, 1 failed run")
    infinite = runs.assign(mse=runs["mse"].mask(runs["seed"] == 2, np.inf))
    assert note(infinite).endswith("1 failed run, 1 run with no finite mse")
    assert set(points(infinite)["runs"]) == {2}


def test_horizon_is_one_number_for_each_run():
    runs = table([record(0), record(1), record(2)], made(1e-9, train_length=5))
    asked = {"metric": "horizon", "x": "train_length"}
    assert points(runs, "train_length median low high", **asked) == [[5, 12, 12, 12], [10, 0, 0, 12]]
    assert "length" not in points(runs, **asked)
    assert drawn(runs, **asked).axes[0].get_yscale() == "linear"  # 0 is a horizon too
    assert "tested to length 12" in note(runs, **asked)


def test_names_stand_side_by_side_and_are_not_joined():
    runs = table(
        *(made(k, **encoded(name)) for k, name in enumerate(("rope", "nope", "alibi"), 1)),
        made(4, **mapped("power", p=-1.0)),
    )
    medians = dict(points(runs, "encoding median", x="encoding", by=""))
    assert medians == {"rope": 24, "nope": (48 + 72) / 2, "alibi": 72}
    axes = drawn(runs, x="encoding", by="outrep").axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["NoPE", "ALiBi", "RoPE"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"metric": "msee"}, "metric=msee: unknown, did you mean mse?"),
        ({"facet": "task,outrep,encoding"}, "facet=task,outrep,encoding: "),
        ({"x": "task", "by": "task"}, "by=task: "),
        ({"metric": "horizon"}, "x=length: "),
        ({"path": "x.bmp"}, "path=x.bmp: "),
        ({"path": "/nowhere/x.png"}, "path=/nowhere/x.png: cannot be written"),
        ({"length": 4}, "length=4: "),
        ({"x": "task", "length": 13}, "length=13: "),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(asked, said):
    with pytest.raises(InputError, match=f"^{re.escape(said)}"):
        compare(TRAINED, **asked)


def test_a_panel_may_lack_a_series_of_names():
    runs = table(made(1), made(4, task={"name": "mean"}, **mapped("log", shift=1.0)))
    assert len(drawn(runs, x="encoding", by="outrep", facet="task").axes) == 2
