"""The notebooks: they hold no outputs, their code runs, and the main numbers in their text are right."""

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


@pytest.fixture
def names(request, tmp_path, monkeypatch):
    """The names that the code of the notebook ``request.param`` defines in a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    defined: dict[str, Any] = {}
    for cell in code_cells(request.param):
        code = "".join(cell["source"])
        magic, _, rest = code.partition("\n")
        if magic.startswith("%%writefile "):
            Path(magic.split()[1]).write_text(rest)
        else:
            exec(compile(code, f"{request.param}, {cell['id']}", "exec"), defined)
    yield defined
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)
    plt.close("all")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_outputs_are_kept(name):
    for cell in code_cells(name):
        assert (cell["outputs"], cell["execution_count"]) == ([], None), f"{cell['id']}: clear all outputs"


@pytest.mark.slow
@pytest.mark.parametrize("names", ["first_quarter_hour"], indirect=True)
def test_first_quarter_hour(names):
    sequences = names["sequences"]
    plain, mapped = (names[model].predict(sequences).answer.tolist() for model in ("plain", "mapped"))
    for text, without, with_map in zip(sequences, plain, mapped, strict=True):
        if len(text) <= 10:
            assert without == pytest.approx(len(text), abs=0.1)
        else:
            assert without < with_map < len(text)
    horizons = names["both"].table().groupby(["outrep", "seed"])["horizon"].first().unstack()
    assert (horizons.loc["rsqrt"] > horizons.loc["identity"]).all()
    assert names["within"] > 0.95
    assert names["beyond"] < 0
    growth = {silenced: float(answers[2] - answers[0]) for silenced, answers in names["answers"].items()}
    assert min(growth.values()) < growth["none"] / 3


@pytest.mark.slow
@pytest.mark.parametrize("names", ["your_own_encoding"], indirect=True)
def test_your_own_encoding(names):
    assert names["own"].predict(["0110", "1" * 10, "01" * 20]).answer.tolist() == pytest.approx([0.5, 1, 0.5], abs=0.03)
    medians = names["table"].groupby(["encoding", "length"])["mse"].median().unstack()
    assert medians[50].idxmin() == "nope"


@pytest.mark.slow
@pytest.mark.parametrize("names", ["sweep_and_table"], indirect=True)
def test_sweep_and_table(names):
    assert names["table"]["id"].nunique() == 12
    horizons = names["horizons"]
    assert (horizons.loc["nope", "rsqrt"] > horizons.loc["nope", "identity"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("names", ["theory_and_training"], indirect=True)
def test_theory_and_training(names):
    assert names["learned"].flatten().tolist() == pytest.approx(names["exact"], rel=0.02)
    assert names["errors"]["trained"].tolist() == pytest.approx(names["errors"]["exact optimum"].tolist(), rel=0.1)
    growth = (names["roots"].loc[50] - names["roots"].loc[40]) / 10
    assert growth.tolist() == pytest.approx([1, 1], abs=0.01)
    assert names["mended"].error(50) == 0
    assert names["solved"].predict(["1" * 10, "10" * 25]).answer.tolist() == pytest.approx([10, 50], rel=1e-3)
