import re
from dataclasses import replace
from functools import cache

import pandas as pd
import pytest
from omegaconf import OmegaConf

from experiments.output_alignment.figures import Panel, best, cells, drawn_data, figures
from support.figures import FIGURES, loaded, panels_of
from support.quick import QUICK
from synthlab.analysis.record_list import Records
from synthlab.config.composition import Composed, as_overrides, compose, conf_dir
from synthlab.errors import InputError
from synthlab.regression.config import RunConfig
from synthlab.regression.construction import resolve
from synthlab.studies.figure_files import Drawn, Folder
from synthlab.studies.plots import PLOTS
from synthlab.training.execution import execute

ALONE = ("ablation", "maps", "recipe")  # drawn only where asked for by name
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


@cache
def base(*overrides: str) -> Composed:
    return Composed(compose(list(overrides)), {given.split("=")[0]: given for given in overrides})


def ids(*names: str) -> set[str]:
    panels = [panel for name in names for panel in panels_of(name)]
    return {config.id for panel in panels for cell in cells(panel, base(), seeds=5) for config in cell.configs}


def test_the_figures_are_as_many_runs_as_the_readme_says():
    assert len(ids("1")) == 65
    assert len(ids("1", "3", "4", "5")) == 170


@pytest.fixture
def hasty(monkeypatch):
    """Every run is trained for two steps on small batches and tested on few sequences, whatever its config says."""

    def ensure(configs, store, workers, device, tracker):
        for config in {config.id: config for config in configs if not store.holds(config)}.values():
            quick = config.model_dump()
            quick["protocol"] |= {"steps": 2, "batch": 2, "record_every": 1}
            quick["evaluation"] |= {"sequences": 2}
            store.write(replace(execute(RunConfig.checked(quick)), config=config))
        return Records(store.find(config) for config in configs)

    monkeypatch.setattr("synthlab.sweeps.sweep.ensure", ensure)


# The paper's first and last with every test, the many panels of the others apart.
BY_SIZE = [name if name in ("1", "5") else pytest.param(name, marks=pytest.mark.slow) for name in FIGURES]


@pytest.mark.parametrize("name", BY_SIZE)
def test_every_figure_composes_runs_two_steps_and_is_drawn_again_from_its_csvs_alone(invoke, hasty, tmp_path, name):
    outcome = invoke("experiments", f"figure={name}", "seeds=1", f"results={tmp_path}")
    assert outcome.status == 0, outcome.err
    written = re.findall(r"^  (\S+\.\w+)$", outcome.out, re.MULTILINE)
    assert {path.rsplit(".", 1)[1] for path in written} == {"pdf", "png", "csv", "html"}
    again, drawn = Folder(tmp_path), tmp_path / "figures"
    for figure, found in figures(loaded(name)).items():
        panels = {
            key: Drawn(panel.title, PLOTS.build(panel.plot), pd.read_csv(drawn / f"{figure}{key}.csv"))
            for key, panel in found.panels.items()
        }
        for path in again.save_sheet(figure, found.title, panels):
            assert path.read_bytes() == (drawn / path.name).read_bytes()


@pytest.mark.parametrize("name", FIGURES)
def test_cells_are_what_hydra_composes(name):
    overrides = ["evaluation.sequences=8", "protocol.record_every=5"]
    for panel in panels_of(name):
        for chosen in [cells(panel, base(*overrides), seeds=1)[k] for k in (0, -1)]:
            for tuned, configs in chosen.candidates.items():
                settings = [*as_overrides(panel.fixed), *overrides, *as_overrides(chosen.chosen), *tuned.split()]
                assert configs == [resolve(compose(settings)).with_seed(0)]


@pytest.mark.slow
def test_a_figure_is_the_same_bytes_each_time_and_comes_from_its_csv_alone(invoke, tmp_path):
    arguments = [*as_overrides(QUICK), "figure=1", "seeds=2", "workers=1", f"results={tmp_path}"]
    assert invoke("experiments", *arguments).status == 0
    folder = tmp_path / "figures"
    first = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".json"}
    assert len(first) == 2 + 4 * 3
    assert invoke("experiments", *arguments, "replot=true").status == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".json"} == first


def test_paper_is_every_figure_of_the_paper_and_all_every_figure_but_those_drawn_alone():
    paper, everything = (OmegaConf.load(conf_dir() / "figure" / f"{n}.yaml")["defaults"] for n in ("paper", "all"))
    assert sorted(paper) == [name for name in FIGURES if name.isdigit()]
    assert sorted(everything) == sorted(["paper", *(n for n in FIGURES if not n.isdigit() and n not in ALONE)])


def test_more_seeds_train_only_the_new_ones(invoke, own_figure, tmp_path):
    invoke("experiments", *own_figure, "seeds=1")
    before = set((tmp_path / "runs").iterdir())
    outcome = invoke("experiments", *own_figure, "seeds=2")
    assert "4 skipped, 4 left" in outcome.err
    assert before < set((tmp_path / "runs").iterdir())


def test_overrides_hold_for_every_run_and_are_refused_against_the_grid():
    panel = figures(loaded("1"))["figure1"].panels["a"]
    grid = cells(panel, base("train_length=7"), seeds=2)
    assert [cell.chosen["encoding"] for cell in grid] == ["nope", "alibi", "rope", "learned"]
    for cell in grid:
        assert [config.seed for config in cell.configs] == [0, 1]
        assert {(c.train_length, c.encoding["name"]) for c in cell.configs} == {(7, cell.chosen["encoding"])}
    for own in ("task=sum", "encoding=t5"):
        with pytest.raises(InputError, match=f"{own}: panel .* sets {own.split('=')[0]} itself"):
            cells(panel, base(own), seeds=1)


def test_a_setting_of_a_group_outlives_the_choice_of_its_member_and_must_fit_it():
    paper = base("protocol.steps=7").with_settings({"protocol": "paper"})["protocol"]
    assert (paper["optimizer"], paper["steps"]) == ("sgd", 7)
    with pytest.raises(InputError, match="encoding.base=100.0: unknown key; choose from name"):
        base("encoding=rope", "encoding.base=100.0").with_settings({"encoding": "nope"})
    with pytest.raises(InputError, match="model.wdith=3: unknown key, did you mean width"):
        base().with_settings({"model.wdith": 3})


def test_a_tuned_series_is_drawn_under_its_best_setting():
    panel = Panel(title="a", vary={"task": ["sum"]}, tune={"protocol.lr": [1, 2]})
    [cell] = cells(panel, base(*as_overrides(QUICK)), seeds=3)
    assert list(cell.candidates) == ["protocol.lr=1", "protocol.lr=2"]
    losses = zip(cell.configs, [0.1, 0.9, 0.9, 0.2, 0.3, 0.2], strict=True)
    records = {c.id: replace(execute(c), training=pd.DataFrame({"step": [1], "loss": [loss]})) for c, loss in losses}
    setting, series = best(cell, records)
    assert setting == "protocol.lr=2"
    assert [record.config for record in series.records] == cell.candidates["protocol.lr=2"]
    assert set(drawn_data(panel, [(setting, series)], "")["tuned"]) == {"protocol.lr=2"}
    diverged = {key: replace(r, diverged_at=1) if r.config.protocol.lr == 2 else r for key, r in records.items()}
    assert best(cell, diverged)[0] == "protocol.lr=1"


def test_a_users_own_figure_is_one_file(invoke, own_figure, tmp_path):
    assert invoke("experiments", *own_figure, "seeds=2").status == 0
    drawn = pd.read_csv(tmp_path / "figures" / "widthsmain.csv")
    assert drawn["series"].unique().tolist() == [f"model.width={w} model.depth={d}" for w in (8, 16) for d in (1, 2)]
    assert set(drawn["seeds"]) == {2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure=9"], "figure=9: unknown; choose from 1, 3, 4, 5, ablation, all, horizon, maps, paper, powers"),
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
        (["replot=true", "figure=1"], "replot=true: 13 of 13 runs are not recorded below"),
        (["model.width=30"], "model.heads=4: must divide model.width=30"),
        (["-m", "figure=4,5"], "-m: figures are not swept"),
        (["figure=4", "--multir"], "-m: figures are not swept"),
        (["figure=4", "~protocol.beta2"], "~protocol.beta2: a figure's runs take plain values"),
        (
            ["figure=4", "protocol.record_every=${protocol.steps}"],
            "protocol.record_every=${protocol.steps}: a figure's",
        ),
        (["figure=sizes"], "panel 'mean task': plot.lengths=[50]: must be at most test_length=12"),
        (["figure=powers"], "panel 'length task (NoPE)': plot.lengths=[20, 50]: must be at most test_length=12"),
        (["figure=3"], "test_length=12: panel '(a) sum task (NoPE)' sets test_length itself"),
    ],
)
def test_bad_input_is_refused_in_one_line(invoke, quick, tmp_path, arguments, message):
    if "replot=true" in arguments:
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
            "plot=pie: unknown; choose from curves, training, against, powers, heat",
        ),
        ({"title": "x", "vray": {}}, "panels.a.vray=.*: unknown key, did you mean vary"),
        ({"title": "x", "vary": {}}, "panels.a.vary.0={}: Dictionary should have at least 1 item"),
        ({"title": "x", "vary": {"encoding": []}}, r"panels.a.vary.0.encoding=\[\]: List should have at least 1 item"),
        ({"title": "x", "vary": {"seed": [1]}}, "panels.a: sets seed, which is the command line's; leave it out"),
        (
            {"title": "x", "vary": {"task": ["sum"]}, "claims": ["1z"]},
            "panels.a.claims=1z: unknown; choose from 1a, 1b",
        ),
        ({"title": "x", "vary": {"task": ["sum"]}, "plot": {"name": "heat", "rows": 3}}, "panels.a.plot.rows=3: "),
        ({"title": "$\\nothing$", "vary": {"task": ["sum"]}}, "panels.a.title=.*: "),
        ("hello", "panels.a=hello: "),
        (
            {"title": "x", "vary": {"task": ["sum"]}, "plot": {"name": ["curves"]}},
            "panels.a.plot=\\['curves'\\]: unknown",
        ),
        ({"title": "x", "vary": {"results": ["a", "b"]}}, "panels.a: sets results, which is the command line's"),
        ({"title": "x", "vary": {"task": ["sum"]}, "fixed": {"task": "mean"}}, "panels.a: sets task twice"),
        ({"title": "x", "vary": {"protocol.lr": [1]}, "tune": {"protocol.lr": [1, 2]}}, "a: sets protocol.lr twice"),
    ],
)
def test_a_figure_file_with_a_mistake_is_refused(panel, message):
    with pytest.raises(InputError, match=message):
        figures({"mine": {"title": "mine", "panels": {"a": panel}}})


ENCODINGS = {"encoding": ["nope", "rope"]}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"vary": ENCODINGS, "plot": {"name": "against", "x": "nokey", "lengths": [5]}},
            "plot.x=nokey: must be a setting",
        ),
        ({"vary": ENCODINGS, "plot": {"name": "against", "x": "encoding", "lengths": [5]}}, "plot.x=encoding: must be"),
        (
            {"vary": ENCODINGS, "plot": {"name": "heat", "rows": "encoding", "columns": "outrep"}},
            "must be the two settings",
        ),
        ({"vary": ENCODINGS, "plot": {"name": "heat", "rows": "encoding", "columns": "encoding"}}, "must be the two"),
        (
            {
                "vary": ENCODINGS | {"task": ["sum", "mean"], "outrep": ["log"]},
                "plot": {"name": "heat", "rows": "encoding", "columns": "task"},
            },
            "rows=encoding columns=task: must be the two settings in vary .encoding, task, outrep",
        ),
        ({"vary": ENCODINGS, "plot": {"name": "powers", "lengths": [5]}}, "plot.vary.encoding: a plot of powers shows"),
        ({"vary": [ENCODINGS, {"encoding": ["rope"]}]}, "the same run is there twice"),
    ],
)
def test_a_plot_that_does_not_fit_the_grid_is_refused_before_training(settings, message):
    panel = figures({"mine": {"title": "mine", "panels": {"a": {"title": "x"} | settings}}})["mine"].panels["a"]
    with pytest.raises(InputError, match=message):
        cells(panel, base(), seeds=2)


def test_an_override_of_part_of_a_member_that_the_panel_sets_whole_is_refused():
    panel = Panel(title="x", vary={"outrep": [{"name": "power", "p": 2.0, "shift": 2.0}]})
    with pytest.raises(InputError, match="outrep.shift=7: panel 'x' sets outrep.shift itself"):
        cells(panel, base("outrep.shift=7"), seeds=1)


def test_figures_and_panels_that_would_share_a_file_are_refused():
    panel = {"title": "x", "vary": {"task": ["sum"]}}
    raw = {"fig": {"title": "x", "panels": {"a_b": panel}}, "figa": {"title": "x", "panels": {"_b": panel}}}
    with pytest.raises(InputError, match="figa_b: two figures or panels would be written to files of this name"):
        figures(raw)


def test_what_cannot_be_written_at_the_end_is_said_in_one_line(invoke, own_figure, tmp_path):
    (tmp_path / "claims.csv").mkdir()
    outcome = invoke("experiments", *own_figure, "seeds=1")
    assert outcome.status == 2
    assert outcome.err.splitlines()[-1].startswith(f"error: {tmp_path / 'claims.csv'}: cannot be written")
    assert len(list((tmp_path / "runs").iterdir())) == 4


def test_a_figure_edited_on_the_command_line_says_so(invoke, own_figure, tmp_path):
    edit = "figure.widths.panels.main.fixed.task=length"
    assert invoke("experiments", *own_figure, "seeds=1", edit).status == 0
    assert pd.read_csv(tmp_path / "figures" / "widthsmain.csv")["overrides"].str.contains(edit).all()


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
