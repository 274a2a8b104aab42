"""Figures as files: what is there and shows the same is left alone."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

from synthlab.studies.presentation.figure_files import Drawn, Folder
from synthlab.studies.presentation.plots import PLOTS


def panel(last: float = 2.0) -> Drawn:
    columns = {"series": "a", "step": [1, 2], "median": [1.0, last], "low": 1.0, "high": 2.0, "seeds": 1}
    return Drawn("x", PLOTS.build({"name": "training"}), pd.DataFrame(columns).assign(train_length=10))


@pytest.mark.slow
def test_a_picture_that_shows_the_same_is_left_alone_and_any_other_drawn_anew(tmp_path, monkeypatch):
    folder, drawn, kept = Folder(tmp_path), [], {}
    savefig = Figure.savefig

    def save(self, path, **how):
        drawn.append(path.name)
        if path.name in kept:  # drawing takes long
            path.write_bytes(kept[path.name])
        else:
            savefig(self, path, **how)

    monkeypatch.setattr(Figure, "savefig", save)

    def names_drawn(one: Drawn) -> list[str]:
        drawn.clear()
        folder.save_panel("p", one)
        folder.save_sheet("s", "title", {"a": one})
        return list(drawn)

    every = ["p.pdf", "p.png", "s.pdf", "s.png"]
    assert names_drawn(panel()) == every
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert names_drawn(panel()) == []
    kept.update(before)
    for name, spoil in (
        ("p.png", lambda content: content[:-20]),
        ("p.png", lambda content: content[: len(content) // 2] + b"?" + content[len(content) // 2 + 1 :]),
        ("p.pdf", lambda content: content[:-1]),
        ("p.png", lambda content: b""),
        ("p.png", lambda content: before["s.png"]),  # a picture of something else
    ):
        (tmp_path / name).write_bytes(spoil(before[name]))
        assert names_drawn(panel()) == ["p.pdf", "p.png"]
    kept.clear()
    (tmp_path / "p.png").write_bytes(b"")
    assert names_drawn(panel()) == ["p.pdf", "p.png"]
    (tmp_path / "s.pdf").unlink()
    assert names_drawn(panel()) == ["s.pdf", "s.png"]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert names_drawn(panel(3.0)) == every
