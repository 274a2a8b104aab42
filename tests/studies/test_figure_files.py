"""Figures as files: what is there and shows the same is left alone."""

from io import BytesIO

import pandas as pd
import pytest
from matplotlib.figure import Figure

from synthlab.studies.presentation.figure_files import Drawn, save_panel, save_sheet
from synthlab.studies.presentation.plots import PLOTS


def panel(last: float = 2.0) -> Drawn:
    columns = {"series": "a", "step": [1, 2], "median": [1.0, last], "low": 1.0, "high": 2.0, "seeds": 1}
    return Drawn("x", PLOTS.build({"name": "training"}), pd.DataFrame(columns).assign(train_length=10))


@pytest.mark.slow
def test_a_picture_that_shows_the_same_is_left_alone_and_any_other_drawn_anew(tmp_path, monkeypatch):
    drawn = []
    savefig = Figure.savefig

    def save(self, path, **how):
        drawn.extend([] if isinstance(path, BytesIO) else [path.name])
        savefig(self, path, **how)

    monkeypatch.setattr(Figure, "savefig", save)

    def names_drawn(one: Drawn) -> list[str]:
        drawn.clear()
        save_panel(tmp_path, "p", one)
        save_sheet(tmp_path, "s", "title", {"a": one})
        return list(drawn)

    assert names_drawn(panel()) == ["p.png", "s.png"]
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(before) == ["p.csv", "p.pdf", "p.png", "s.pdf", "s.png"]
    assert names_drawn(panel()) == []
    (tmp_path / "p.png").unlink()
    (tmp_path / "s.pdf").write_bytes(before["p.pdf"])  # a picture of something else
    assert names_drawn(panel()) == ["p.png", "s.png"]
    (tmp_path / "s.pdf").unlink()
    assert names_drawn(panel()) == ["s.png"]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert names_drawn(panel(3.0)) == ["p.png", "s.png"]
