"""The notebooks: they hold no outputs, their code runs as it is, and the main numbers that their text speaks of are
checked."""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

from experiments.reference import ROOT

NOTEBOOKS = {path.stem: path for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))}


def code_cells(name: str) -> list[dict[str, Any]]:
    cells = json.loads(NOTEBOOKS[name].read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def run_cells(name: str) -> dict[str, Any]:
    """Run the code of a notebook in the working folder, and return its names."""
    names: dict[str, Any] = {}
    for cell in code_cells(name):
        code = "".join(cell["source"])
        magic, _, rest = code.partition("\n")
        if magic.startswith("%%writefile "):
            Path(magic.split()[1]).write_text(rest)
        else:
            exec(compile(code, f"{name}, {cell['id']}", "exec"), names)
    return names


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A working folder, from which modules can be imported as in a notebook."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    yield
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)
    plt.close("all")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_outputs_are_kept(name):
    for cell in code_cells(name):
        assert (cell["outputs"], cell["execution_count"]) == ([], None), f"{cell['id']}: clear all outputs"


@pytest.mark.slow
def test_first_quarter_hour(workplace):
    names = run_cells("first_quarter_hour")
    sequences = names["sequences"]
    plain, mapped = (names[model].predict(sequences).answer.tolist() for model in ("plain", "mapped"))
    for text, without, with_map in zip(sequences, plain, mapped, strict=True):
        if len(text) <= 10:
            assert without == pytest.approx(len(text), abs=0.1)
        else:
            assert without < with_map < len(text)
    horizons = names["both"].table().groupby(["outrep", "seed"])["horizon"].first().unstack()
    assert (horizons.loc["rsqrt"] > horizons.loc["identity"]).all()
    for head in range(4):
        inverse = 1 / names["weights"][:, head, None]
        probe = names["fit_probe"](inverse[:10], names["lengths"][:10])
        assert probe.predict(inverse[[9, 39, 49]]).tolist() == pytest.approx([10, 40, 50], rel=1e-3)
    assert names["within"] > 0.95
    assert names["beyond"] < 0
    growth = {silenced: float(answers[2] - answers[0]) for silenced, answers in names["answers"].items()}
    assert min(growth.values()) < growth["none"] / 3


@pytest.mark.slow
def test_your_own_encoding(workplace):
    names = run_cells("your_own_encoding")
    assert names["own"].predict(["0110", "1" * 10, "01" * 20]).answer.tolist() == pytest.approx([0.5, 1, 0.5], abs=0.03)
    medians = names["table"].groupby(["encoding", "length"])["mse"].median().unstack()
    assert medians[50].idxmin() == "nope"


@pytest.mark.slow
def test_sweep_and_table(workplace):
    names = run_cells("sweep_and_table")
    assert names["table"]["id"].nunique() == 12
    horizons = names["horizons"]
    assert (horizons.loc["nope", "rsqrt"] > horizons.loc["nope", "identity"]).all()


@pytest.mark.slow
def test_theory_and_training(workplace):
    names = run_cells("theory_and_training")
    assert names["learned"].flatten().tolist() == pytest.approx(names["exact"], rel=0.02)
    assert names["errors"]["trained"].tolist() == pytest.approx(names["errors"]["exact optimum"].tolist(), rel=0.1)
    growth = (names["roots"].loc[50] - names["roots"].loc[40]) / 10
    assert growth.tolist() == pytest.approx([1, 1], abs=0.01)
    assert names["mended"].error(50) == 0
    assert names["solved"].predict(["1" * 10, "10" * 25]).answer.tolist() == pytest.approx([10, 50], rel=1e-3)
    assert min(names["at_50"](bos=True), names["at_50"](outrep="reciprocal", shift=1)) > 1000
