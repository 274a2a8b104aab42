import re

import pandas as pd
import pytest
from conftest import QUICK
from omegaconf import OmegaConf

from experiments.drawing import save_panel
from experiments.figures import cells, figures
from synthlab.composition import as_overrides, conf_dir
from synthlab.errors import InputError

FIGURES = sorted(path.stem for path in (conf_dir() / "figure").glob("*.yaml") if path.stem != "all")
OWN = """
widths:
  title: Width and depth
  panels:
    main:
      title: sum task
      fixed: {task: sum, outrep: rsqrt}
      vary: {model.width: [8, 16], model.depth: [1, 2]}
      metric: relative_error
"""


@pytest.fixture
def own_figure(tmp_path, quick) -> list[str]:
    """Arguments that draw a figure of the user's own: four series."""
    (tmp_path / "own" / "figure").mkdir(parents=True)
    (tmp_path / "own" / "figure" / "widths.yaml").write_text(OWN)
    return ["--config-dir", str(tmp_path / "own"), *quick, "figure=widths", "workers=1"]


def loaded(name: str) -> dict:
    raw = OmegaConf.to_container(OmegaConf.load(conf_dir() / "figure" / f"{name}.yaml"))
    return {key: value for key, value in raw.items() if key != "defaults"}


def ids(figure: str) -> set[str]:
    panels = [panel for found in figures(loaded(figure)).values() for panel in found.panels.values()]
    return {config.id for panel in panels for cell in cells(panel, {}, seeds=5) for config in cell.configs}


def test_figure_1_is_65_runs():
    assert len(ids("1")) == 65


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_composes_runs_two_steps_and_is_drawn(invoke, tmp_path, name):
    two_steps = [*as_overrides(QUICK), "protocol.steps=2"]
    outcome = invoke("experiments", *two_steps, f"results={tmp_path}", f"figure={name}", "seeds=1", "workers=1")
    assert outcome.status == 0, outcome.err
    written = re.findall(r"^  (\S+)$", outcome.out, re.MULTILINE)
    assert {path.rsplit(".", 1)[1] for path in written} == {"pdf", "png", "csv"}
    assert "0 left" in outcome.err
    again = invoke("experiments", *two_steps, f"results={tmp_path}", f"figure={name}", "seeds=1", "replot=true")
    assert again.status == 0
    assert "runs done" not in again.err  # nothing to train, no bar


def test_a_figure_is_the_same_bytes_each_time_and_comes_from_its_csv_alone(invoke, tmp_path):
    arguments = [*as_overrides(QUICK), "figure=1", "seeds=2", "workers=1", f"results={tmp_path}"]
    assert invoke("experiments", *arguments).status == 0
    folder = tmp_path / "figures"
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(first) == 2 + 4 * 3
    assert invoke("experiments", *arguments, "replot=true").status == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first
    panel = figures(loaded("1"))["figure1"].panels["c_plus"]
    save_panel(tmp_path / "redrawn", panel.title, panel.plot, pd.read_csv(folder / "figure1c_plus.csv"))
    for kind in ("png", "pdf"):
        assert (tmp_path / f"redrawn.{kind}").read_bytes() == first[f"figure1c_plus.{kind}"]


def test_all_is_every_figure_of_the_paper():
    defaults = OmegaConf.load(conf_dir() / "figure" / "all.yaml")["defaults"]
    assert sorted(defaults) == [name for name in FIGURES if name.isdigit()]


def test_more_seeds_train_only_the_new_ones(invoke, own_figure, tmp_path):
    invoke("experiments", *own_figure, "seeds=1")
    before = set((tmp_path / "runs").iterdir())
    outcome = invoke("experiments", *own_figure, "seeds=2")
    assert "4 runs done, 4 left" in outcome.err
    assert before < set((tmp_path / "runs").iterdir())


def test_overrides_hold_for_every_run_and_are_refused_against_the_grid():
    panel = figures(loaded("1"))["figure1"].panels["a"]
    grid = cells(panel, {"train_length": "train_length=7"}, seeds=2)
    assert [cell.series for cell in grid] == ["nope", "alibi", "rope", "learned"]
    for cell in grid:
        assert [config.seed for config in cell.configs] == [0, 1]
        assert {(c.train_length, c.encoding["name"]) for c in cell.configs} == {(7, cell.series)}
    for own in ("task=sum", "encoding=t5"):
        with pytest.raises(InputError, match=f"{own}: panel .* sets {own.split('=')[0]} itself"):
            cells(panel, {own.split("=")[0]: own}, seeds=1)


def test_a_users_own_figure_is_one_file(invoke, own_figure, tmp_path):
    assert invoke("experiments", *own_figure, "seeds=2").status == 0
    drawn = pd.read_csv(tmp_path / "figures" / "widthsmain.csv")
    assert drawn["series"].unique().tolist() == [f"model.width={w} model.depth={d}" for w in (8, 16) for d in (1, 2)]
    assert set(drawn["seeds"]) == {2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure=9"], "figure=9: unknown; choose from 1, all, maps"),
        (["seeds=0"], "seeds=0: must be greater than 0"),
        (["seeds=many"], "seeds=many: must be a valid integer"),
        (["workers=-1"], "workers=-1: must be greater than 0"),
        (["replot=maybe"], "replot=maybe: must be a valid boolean"),
        (["results=3"], "results=3: must be a valid string"),
        (["~figure"], "figure: missing; must be given"),
        (["++seed=3"], "++seed=3: figures take their seeds from 0 on"),
        (["task=sum"], "task=sum: panel '(a) mean task, encodings' sets task itself"),
        (["figure=[1,maps]"], ""),
        (["seed=3"], "seed=3: figures take their seeds from 0 on; give seeds=N"),
        (["protocol.stpes=3"], "protocol.stpes=3: unknown key, did you mean steps"),
        (["replot=true"], "replot=true: 13 of 13 runs are not recorded below"),
        (["model.width=30"], "model.heads=4: must divide model.width=30"),
    ],
)
def test_bad_input_is_refused_in_one_line(invoke, quick, tmp_path, arguments, message):
    if arguments == ["replot=true"]:
        arguments = [*arguments, "seeds=1"]
    outcome = invoke("experiments", *quick, *arguments)
    assert outcome.status == 2
    assert outcome.err.startswith(f"error: {message}")
    assert len(outcome.err.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_a_figures_folder_that_cannot_be_written_is_refused_before_training(invoke, own_figure, tmp_path):
    (tmp_path / "figures").write_text("in the way")
    outcome = invoke("experiments", *own_figure, "seeds=1")
    assert outcome.status == 2
    assert len(outcome.err.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("panel", "message"),
    [
        ({"title": "x", "vary": {"task": ["sum"]}, "metric": "msq"}, "metric=msq: unknown, did you mean mse"),
        (
            {"title": "x", "vary": {"task": ["sum"]}, "plot": "pie"},
            "plot=pie: unknown; choose from curves",
        ),
        ({"title": "x", "vray": {}}, "panels.a.vray=.*: unknown key, did you mean vary"),
        ({"title": "x", "vary": {}}, "panels.a.vary={}: Dictionary should have at least 1 item"),
        ({"title": "x", "vary": {"encoding": []}}, r"panels.a.vary.encoding=\[\]: List should have at least 1 item"),
        ({"title": "x", "vary": {"seed": [1]}}, "panels.a.vary.seed: figures take their seeds from 0 on"),
        ({"title": "$\\nothing$", "vary": {"task": ["sum"]}}, "panels.a.title=.*: "),
        ("hello", "panels.a=hello: "),
    ],
)
def test_a_figure_file_with_a_mistake_is_refused(panel, message):
    with pytest.raises(InputError, match=message):
        figures({"mine": {"title": "mine", "panels": {"a": panel}}})


@pytest.mark.parametrize("raw", [{}, {"mine": "hello"}, {"mine": {"title": "x", "panels": {}}}, [1]])
def test_what_is_no_figure_is_refused(raw):
    with pytest.raises(InputError):
        figures(raw)


def test_a_name_that_leaves_the_folder_is_refused():
    panel = {"title": "x", "vary": {"task": ["sum"]}}
    with pytest.raises(InputError, match="the name must consist of letters"):
        figures({"../mine": {"title": "mine", "panels": {"a": panel}}})


def test_a_variant_says_so_on_the_figure_and_in_its_csv(invoke, own_figure, tmp_path):
    assert invoke("experiments", *own_figure, "seeds=1", "train_length=6").status == 0
    drawn = pd.read_csv(tmp_path / "figures" / "widthsmain.csv")
    assert drawn["overrides"].str.contains("train_length=6").all()


def test_a_figure_whose_runs_all_diverge_is_drawn_empty_with_status_1(invoke, own_figure, tmp_path):
    explosive = ["protocol.optimizer=sgd", "protocol.lr=1e30", "model.norm=none", "seeds=1"]
    outcome = invoke("experiments", *own_figure, *explosive)
    assert outcome.status == 1
    assert outcome.out.count("left out: run ") == 4
    assert (tmp_path / "figures" / "widths.png").exists()
