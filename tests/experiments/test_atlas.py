"""The atlas: what skill is, its rows and columns, its page, and the command for a row of one's own."""

import json
import re
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from experiments.atlas import page
from experiments.atlas.scores import score_runs, summarize
from experiments.atlas.study import ATLAS, all_studies
from experiments.committed_verdicts import RUNS, read_tables, write_tables
from experiments.reference import ROOT
from support.browser import open_chromium
from support.figures import studies
from support.hasty import hastily
from synthlab.errors import InputError
from synthlab.runs.composition import compose
from synthlab.runs.run import resolve
from synthlab.storage.records import Record
from synthlab.storage.store import Store
from synthlab.studies.overrides import Overrides

ROWS = studies(ATLAS)  # all on each task
STUDIES = all_studies()
TINY = {"model.width=8", "model.heads=2", "train_length=2"}


def record(task: str, lengths: list[int], **metrics: list[float]) -> Record:
    config = resolve(compose([f"task={task}", f"test_length={lengths[-1]}", *TINY]))
    training = pd.DataFrame({"step": [1], "loss": [0.0]})
    return Record(config, pd.DataFrame({"length": lengths, **metrics}), training)


def skills(of: Record) -> list[float]:
    return score_runs([of], 0.99)["skill"].tolist()


def test_skill_of_sequences_is_exact_match_above_chance():
    found = record("mode", [1, 2, 3, 4], exact=[1, 1, 0.8, 0.2], chance=[0.5, 0.5, 0.5, 0.2])
    assert skills(found) == [1, 1, 0.6, 0]
    scored = score_runs([found], 0.99)
    assert scored["times"].tolist() == [0.5, 1, 1.5, 2]
    assert scored["fit"].all()
    assert set(scored["horizon"]) == {1}  # 0.8 is under evaluation.horizon


def test_skill_of_numbers_is_by_the_root_of_the_mean_squared_error():
    # Trained to 2, the best constant for a length is 1.5, whose squared errors are 0.25, 0.25, 2.25, 6.25.
    found = record("length", [1, 2, 3, 4], mse=[0.0, 0.25, 2.25 / 4, 4 * 6.25], relative_error=[0.0, 0.1, 0.2, 0.3])
    assert skills(found) == pytest.approx([1, 0, 0.5, -1], abs=0.03)  # chance is measured on examples
    assert not score_runs([found], 0.99)["fit"].any()


def test_skill_of_a_language_is_by_the_loss_above_the_best_possible():
    best, guess = 1.0, np.log(16)
    losses = [best, guess, (best + guess) / 2, best - 0.1 * (guess - best)]
    found = record("hidden_markov", [1, 2, 3, 4], loss=losses, perfect=[best] * 4)
    assert skills(found) == pytest.approx([1, 0, 0.5, 1.1], abs=1e-4)


def test_a_curve_is_over_quarters_of_the_training_length():
    config = resolve(compose(["task=mode", "train_length=8", "test_length=16"]))
    metrics = pd.DataFrame({"length": range(1, 17), "exact": [1.0] * 14 + [0.5, 0.0], "chance": [0.0] * 16})
    scored = score_runs([replace(record("mode", [2], exact=[1], chance=[0]), config=config, metrics=metrics)], 0.99)
    assert scored["times"].tolist() == [k / 4 for k in range(1, 9)]
    assert scored["skill"].tolist() == [1] * 7 + [0.25]


def curves(task: str, arm: str, skill: float, fit: int = 5, **others: object) -> pd.DataFrame:
    """Five runs, of which so many fit, with this skill at all points."""
    rows = [
        {"task": task, "arm": arm, "kind": "encoding", "runs": 5, "family": "sequences", "train_length": 10}
        | {"seed": seed, "run": f"{task} {arm} {seed}", "fit": seed < fit, "horizon": 1.0, "overrides": ""}
        | {"times": times / 4, "skill": skill + 0.01 * seed, "command": f"synthlab sweep task={task} encoding={arm}"}
        | others
        for seed in range(5)
        for times in range(1, 21)
    ]
    return pd.DataFrame(rows)


def test_a_cell_has_the_median_of_its_runs_their_interval_and_how_many_fit():
    found = summarize(curves("copy", "rope", 0.5, fit=2).query("seed < 4"))  # one diverged
    assert len(found) == 20
    assert found.iloc[0][["median", "low", "high"]].tolist() == pytest.approx([0.515, 0.5, 0.53])
    assert (found["fit"].iloc[0], found["seeds"].iloc[0], found["runs"].iloc[0]) == (2, 4, 5)


def test_a_cell_whose_runs_all_diverged_is_left_out():
    study = studies(ATLAS, "quick")["quick"]
    plan, records = study.plan("quick", Overrides(), 1), {}
    for cell in (cell for cells in plan.cells.values() for cell in cells):
        found = record("length", [1, 2], mse=[0.0, 0.0], relative_error=[0.0, 0.0])
        lost = cell.arm == "rope" or cell.configs[0].task["name"] == "mean"
        records[cell.configs[0].id] = replace(found, config=cell.configs[0], diverged_at=1 if lost else None)
    results = study.results(plan, records, study.evidence(plan, records))
    assert set(results.tables["runs"]["arm"]) == {"nope"}
    assert set(results.tables["runs"]["task"]) == {"length"}
    assert "left out: NoPE (1 diverged), RoPE (2 diverged)" in results.panels["matrix"].notes


def cells_of(html: str) -> dict[tuple[str, str], dict]:
    (cells,) = re.findall(r"const cells = (.*?), times = ", html)
    return {(cell["task"], cell["arm"]): cell for cell in json.loads(cells)}


@pytest.fixture
def committed(tmp_path, monkeypatch):
    write_tables(tmp_path / RUNS, {"sequences": pd.concat([curves("copy", "rope", 0.1), curves("copy", "nope", 0.2)])})
    monkeypatch.setattr(page, "COMMITTED", tmp_path / RUNS)


@pytest.mark.usefixtures("committed")
def test_the_page_shows_new_rows_beside_the_committed_ones():
    own = pd.concat([curves("copy", "mine:<script>", 0.3), curves("copy", "nope", 0.4)])
    html = page.make_page({"sequences": own})
    cells = cells_of(html)
    assert {arm: (cell["here"], cell["curve"][0][1]) for (_, arm), cell in cells.items()} == {
        "rope": (False, 0.12),
        "mine:<script>": (True, 0.32),
        "nope": (True, 0.42),
    }
    assert "mine:<script>" not in html  # escaped
    other = page.make_page({"sequences": own.assign(overrides="protocol.steps=10")})
    assert {arm for _, arm in cells_of(other)} == {"mine:<script>", "nope"}
    assert "protocol.steps=10" in other


@pytest.mark.usefixtures("committed")
def test_kept_rows_replace_the_same_cells_and_follow_the_others():
    page.keep_cells({"sequences": pd.concat([curves("copy", "mine:Fire", 0.3), curves("copy", "rope", 0.4)])})
    (kept,) = read_tables(page.COMMITTED).values()
    assert kept.groupby("arm", sort=False)["skill"].min().to_dict() == {"rope": 0.4, "nope": 0.2, "mine:Fire": 0.3}


def test_a_page_without_any_row_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "COMMITTED", tmp_path / RUNS)
    with pytest.raises(InputError, match="no row is recorded"):
        page.make_page({})


def test_a_command_trains_the_runs_of_its_cell():
    for name, study in STUDIES.items():
        key, cells = next(iter(study.plan(name, Overrides(), 2, 3).cells.items()))
        for cell in cells:
            _, _, *words, seeds = shlex.split(study.command(key, cell))
            assert seeds == "seed=range(3,5)"
            assert resolve(compose([*words, "seed=4"])).id == cell.configs[1].id


def test_the_committed_page_is_that_of_the_committed_runs():
    assert (ROOT / "docs" / "atlas.html").read_text() == page.make_page({})


@pytest.mark.slow
def test_committed_runs_are_those_of_the_studies():
    asked = {config.id for name, study in STUDIES.items() for config in study.plan(name, Overrides()).configs}
    for table in read_tables(page.COMMITTED).values():
        assert set(table["run"]) <= asked


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_rows_have_about_as_many_parameters_as_nope(name):
    sizes = {}
    for cell in next(iter(STUDIES[name].grids.values())).cells(name, Overrides(), range(1)):
        model = cell.configs[0].load_family().build_models(cell.configs)
        # Tables of positions are no part of what computes.
        sizes[cell.arm] = sum(each.numel() for key, each in model.named_parameters() if "vectors" not in key)
    assert {arm: size for arm, size in sizes.items() if abs(size / sizes["nope"] - 1) > 0.07} == {}


def shortened(config, quick):
    quick["evaluation"] |= {"sequences": 2} | ({"questions": 2} if config.family == "language" else {})


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr("synthlab.studies.rounds.ensure", hastily(shortened))


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_every_row_trains_on_a_task_of_each_family(name, tmp_path):
    cells = next(iter(STUDIES[name].grids.values())).cells(name, Overrides(), range(1))
    configs = [cell.configs[0] for cell in cells]
    records = hastily(shortened)(configs, Store(tmp_path), 1, "cpu", None)
    found = score_runs(records, 0.5).groupby("run")
    assert (found["times"].max() == 5).sum() == len(cells)


@pytest.mark.slow
def test_a_page_of_what_is_recorded(invoke, hasty, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "COMMITTED", tmp_path / RUNS)
    outcome = invoke("experiments", "atlas/quick", "seeds=5", "workers=2", f"results={tmp_path}")
    assert (outcome.status, outcome.err.count("Traceback")) == (0, 0), outcome.err
    assert outcome.err.startswith("runs to train: 20, about 0.022 hours on one core, 0.011 on 2")  # of 4 seconds
    assert len(cells_of((tmp_path / "atlas" / "page.html").read_text())) == 4
    outcome = invoke("synthlab", "atlas", f"results={tmp_path}")
    assert outcome.status == 0, outcome.err
    cells = cells_of((tmp_path / "atlas" / "page.html").read_text())
    assert {key: cell["runs"] for key, cell in cells.items()} == {
        (task, arm): 5 for task in ("length", "mean") for arm in ("nope", "rope")
    }


OWN = """
import torch
from synthlab import Encoding
from synthlab.models.mixers import Mixer


class Distance(Encoding):
    def __init__(self, dims, /, slope: float = 1.0):
        super().__init__(dims)
        self.slope = slope

    def bias(self, query, key):
        return -self.slope * torch.log1p((query - key).clamp(min=0)).unsqueeze(-3)


class Mean(Mixer):
    def __init__(self, dims, /):
        super().__init__()

    def forward(self, h):
        return h.cumsum(2) / torch.arange(1, h.shape[2] + 1).unsqueeze(-1)
"""


@pytest.mark.usefixtures("committed")
@pytest.mark.parametrize(
    ("row", "kind"), [(["Distance", "encoding.slope=2.0"], "encoding"), (["Mean"], "mixer")], ids=["encoding", "mixer"]
)
def test_a_row_of_ones_own(row, kind, invoke, hasty, tmp_path, monkeypatch):
    module = f"rows_{kind}"
    (tmp_path / f"{module}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    name = " ".join([f"{module}:{row[0]}", *row[1:]])
    outcome = invoke("synthlab", "atlas", *name.split(), "quick=true", "seeds=1", "workers=1")
    assert (outcome.status, outcome.err.count("Traceback")) == (0, 0), outcome.err
    cells = cells_of((tmp_path / "results" / "atlas" / name / "page.html").read_text())
    assert set(cells) == {("length", name), ("mean", name), ("copy", "rope"), ("copy", "nope")}
    assert {cells["mean", name]["kind"], cells["length", name]["kind"]} == {kind}


def test_an_unknown_row_is_refused_in_one_line(invoke):
    outcome = invoke("synthlab", "atlas", "rop", "quick=true")
    assert (outcome.status, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.startswith("error: row=rop: unknown, did you mean rope?")


@pytest.mark.browser
def test_the_page_filters_sorts_and_opens_curves(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "COMMITTED", tmp_path / RUNS)
    numbers = curves("length", "rope", 0.9, family="numbers", horizon=2.0)
    recurrent = curves("copy", "gru", -0.3, kind="mixer", horizon=5.0)
    rows = [numbers, curves("copy", "rope", 0.1, fit=2), curves("copy", "nope", 0.5), recurrent]
    (tmp_path / "page.html").write_text(page.make_page({"sequences": pd.concat(rows)}))
    with open_chromium() as browser:
        tab, said = browser.new_page(viewport={"width": 390, "height": 844}), []
        tab.on("pageerror", lambda error: said.append(error))
        tab.goto((tmp_path / "page.html").as_uri())

        def shown() -> list[list[str]]:
            return [row.split() for row in tab.locator("#atlas tbody tr").all_inner_texts()]

        assert shown() == [["RoPE", "0.92", "0.12"], ["NoPE", "0.52"], ["GRU", "0.00°"]]
        assert tab.locator("#atlas .unfit").all_inner_texts() == ["0.12"]
        tab.click("#atlas th button:text('copy')")  # cells that do not fit come last
        assert [row[0] for row in shown()] == ["NoPE", "GRU", "RoPE"]
        tab.uncheck("label:has-text('numbers') input")
        tab.uncheck("label:has-text('mixers') input")
        assert shown() == [["NoPE", "0.52"], ["RoPE", "0.12"]]
        tab.fill("input[type=search]", "no")
        tab.click("#atlas td button")
        assert "NoPE on copy" in tab.inner_text("#curve")
        assert ": 0.52 [0.50, 0.54]" in tab.inner_text("#curve")
        assert "5 of 5 runs fit" in tab.inner_text("#curve")
        tab.select_option("select", "horizon")
        assert shown() == [["NoPE", "1.0"]]
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        tab.select_option("#board select", "copy")  # of RoPE too few runs fit
        assert [row.locator("td").all_inner_texts() for row in tab.locator("#leaders tbody tr").all()] == [
            ["1", "GRU", "50+ [50+, 50+]", "5 of 5", "synthlab sweep task=copy encoding=gru"],
            ["2", "NoPE", "10 [10, 10]", "5 of 5", "synthlab sweep task=copy encoding=nope"],
        ]
        assert said == []
