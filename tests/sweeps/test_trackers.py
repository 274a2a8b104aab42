import math
import pickle
import sys
import types
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
import yaml

from support.configs import config
from synthlab.config.base import resolve
from synthlab.config.composition import conf_dir
from synthlab.errors import InputError
from synthlab.regression.config import METRICS, horizon
from synthlab.storage.records import Record
from synthlab.sweeps.trackers import Followed, tracker_of
from synthlab.sweeps.trackers.base import Track, Tracker, outcome
from synthlab.training.execution import execute_together

SETTINGS = {"none": {}, "wandb": {"project": "lab", "mode": "offline", "group": "tests"}, "tensorboard": {}}


class Notes(Tracker):
    """A user's own tracker: what it was told, by run; it breaks at the calls named in ``breaks``."""

    seen: dict[str, list] = {}  # noqa: RUF012

    def __init__(self, breaks: str = ""):
        self.breaks = breaks

    def begin(self, config):
        self.told(config.id, "begin")
        return Note(self, config.id)

    def told(self, run: str, call: str, *what):
        self.seen.setdefault(run, []).append((call, *what))
        if call in self.breaks.split():
            raise OSError("the disk\nis full")


class Note(Track):
    def __init__(self, notes: Notes, run: str):
        self.notes, self.run = notes, run

    def point(self, step, loss):
        self.notes.told(self.run, "point", step, loss)

    def end(self, record, error=None):
        self.notes.told(self.run, "end", record, error)


OWN = f"{__name__}:Notes"


@pytest.fixture(autouse=True)
def _forgotten():
    Notes.seen.clear()


def configs(*overrides: str, seeds: int = 3):
    run = config("task=length", "outrep=log", *overrides)
    return [run.with_seeds({"seed": seed}) for seed in range(seeds)]


def followed(tracker, stack) -> list[Record]:
    """The records of a stack that ``tracker`` follows."""
    with tracker.follow(stack) as tracks:
        records = execute_together(stack, tracks.observe)
        tracks.end(records)
    return records


def same(a: Record, b: Record) -> bool:
    return a.config == b.config and a.metrics.equals(b.metrics) and a.training.equals(b.training)


def tracker(name: str, folder: Path) -> Followed:
    if name != "none":
        pytest.importorskip(name, reason=f"needs the extra {name}")
    return tracker_of({"name": name, **({} if name == "none" else {"folder": str(folder)}), **SETTINGS[name]})


def test_points_arrive_at_every_record_every_and_records_at_the_end():
    stack = configs("protocol.steps=6", "protocol.record_every=2")
    records = followed(tracker_of({"name": OWN}), stack)
    assert all(same(record, alone) for record, alone in zip(records, execute_together(stack), strict=True))
    assert set(Notes.seen) == {config.id for config in stack}
    for record in records:
        begin, *points, end = Notes.seen[record.config.id]
        assert begin == ("begin",)
        assert points == [("point", *row) for row in record.training.itertuples(index=False)]
        assert [step for _, step, _ in points] == [2, 4, 6]
        assert end[1] is record
        assert end[2] is None


def test_a_run_that_diverges_has_no_more_points():
    stack = configs("protocol.optimizer=sgd")
    stack = [stack[0], resolve(stack[1].model_dump() | {"protocol": {**stack[1].protocol.model_dump(), "lr": 1e30}})]
    records = followed(tracker_of({"name": OWN}), stack)
    assert [record.status for record in records] == ["finished", "diverged"]
    for record in records:
        points = Notes.seen[record.config.id][1:-1]
        assert len(points) == len(record.training)
        assert all(math.isfinite(loss) for _, _, loss in points)
    assert outcome(records[1]) == {"status": "diverged", "diverged_at": records[1].diverged_at}


@pytest.mark.parametrize("error", [RuntimeError("out of\nmemory"), KeyboardInterrupt()])
def test_a_run_that_breaks_off_ends_without_a_record(error):
    stack, told = configs(), tracker_of({"name": OWN})
    with pytest.raises(type(error)), told.follow(stack):
        raise error
    said = {"RuntimeError": "RuntimeError: out of memory", "KeyboardInterrupt": "KeyboardInterrupt"}
    for each in stack:
        assert Notes.seen[each.id] == [("begin",), ("end", None, said[type(error).__name__])]


@pytest.mark.parametrize("call", ["begin", "point", "end"])
def test_a_tracker_that_fails_costs_no_run_and_says_so_once(capsys, call):
    stack, failing = configs(), tracker_of({"name": OWN, "breaks": call})
    records = [followed(failing, stack), followed(pickle.loads(pickle.dumps(failing)), stack)]
    assert all(same(record, alone) for record, alone in zip(records[0], execute_together(stack), strict=True))
    said = f"tracker={OWN}: given up (OSError: the disk is full); runs go on without it\n"
    assert capsys.readouterr() == ("", said)
    assert sum(told[0] == call for run in Notes.seen.values() for told in run) == 1


def test_the_outcome_is_in_a_few_numbers():
    (record,) = execute_together(configs(seeds=1))
    ended = outcome(record)
    assert list(ended) == ["status", "horizon", *(f"last_{name}" for name in METRICS)]
    assert ended["horizon"] == horizon(record.metrics["relative_error"].to_numpy())
    assert ended["last_mse"] == record.metrics["mse"][record.config.test_length - 1]
    assert outcome(None, "why") == {"status": "failed", "error": "why"}
    assert outcome(replace(record, diverged_at=3)) == {"status": "diverged", "diverged_at": 3}


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ({"name": "wandbb"}, "tracker=wandbb: unknown, did you mean wandb?; choose from none, wandb, tensorboard"),
        ({"name": "tensorboard", "foldr": "x", "folder": "x"}, "tracker.foldr=x: unknown key, did you mean folder?;"),
        ({"name": "wandb", "project": "p", "folder": "x", "mode": "of"}, "tracker.mode=of: must be 'online', "),
        ({"name": "builtins:dict"}, "tracker=builtins:dict: must be a subclass of synthlab.sweeps.trackers.base.Trac"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(config, line):
    with pytest.raises(InputError) as refused:
        tracker_of(config)
    assert len(refused.value.lines) == 1
    assert refused.value.lines[0].startswith(line)


@pytest.mark.parametrize("name", ["wandb", "tensorboard"])
@pytest.mark.parametrize("spec", [None, ModuleSpec("a folder of that name", None, is_package=True)])
def test_a_missing_package_is_refused_before_training(name, spec, monkeypatch):
    monkeypatch.setattr("synthlab.errors.find_spec", lambda package: spec)
    with pytest.raises(InputError) as refused:
        tracker_of({"name": name, **yaml.safe_load((conf_dir() / "tracker" / f"{name}.yaml").read_text())})
    line = f"tracker={name}: needs {name}; pip install -e '.[{name}]'"
    assert refused.value.lines == (line,)


def events(folder: Path):
    """A run's scalars by tag, as (step, value), and its text by tag."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    scalars = {tag: [(event.step, event.value) for event in read.Scalars(tag)] for tag in read.Tags()["scalars"]}
    words = {tag: read.Tensors(tag)[-1].tensor_proto.string_val for tag in read.Tags()["tensors"]}
    return scalars, {tag.removesuffix("/text_summary"): word[0].decode() for tag, word in words.items() if word}


def test_tensorboard_shows_each_run_of_a_stack(tmp_path, capfd):
    records = followed(tracker("tensorboard", tmp_path), configs())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(record.config.id for record in records)
    for record in records:
        scalars, text = events(tmp_path / record.config.id)
        assert scalars["train/loss"] == [(row.step, pytest.approx(row.loss)) for row in record.training.itertuples()]
        for name in METRICS:
            values = zip(record.metrics["length"], record.metrics[name], strict=True)
            assert scalars[f"test/{name}"] == [(length, pytest.approx(value)) for length, value in values]
        assert scalars["summary/horizon"] == [(0, outcome(record)["horizon"])]
        assert scalars["summary/last_mse"] == [(0, pytest.approx(outcome(record)["last_mse"]))]
        assert text == {"status": "finished"}
    assert capfd.readouterr() == ("", "")


def test_tensorboard_shows_a_run_anew_without_its_first_attempt(tmp_path):
    following, stack = tracker("tensorboard", tmp_path), configs(seeds=1)
    folder = tmp_path / stack[0].id
    with following.follow(stack) as tracks:
        tracks.observe(2, [5.0])
        tracks.observe(100, [4.0])
        tracks.end([None], "killed")
    assert events(folder) == ({"train/loss": [(2, 5.0), (100, 4.0)]}, {"status": "failed", "error": "killed"})
    (record,) = followed(following, stack)
    scalars, text = events(folder)
    assert scalars["train/loss"] == [(row.step, pytest.approx(row.loss)) for row in record.training.itertuples()]
    assert text == {"status": "finished"}


class Hub(types.ModuleType):
    """W&B as far as the tracker calls it: what it is told, by the run's id."""

    def __init__(self):
        super().__init__("wandb")
        self.__spec__ = ModuleSpec("wandb", None, is_package=True)
        self.runs: dict[str, list[types.SimpleNamespace]] = {}
        self.setup, self.termsetup, self.Settings = lambda: None, lambda *_: None, dict

    def init(self, **about):
        run = types.SimpleNamespace(about=about, rows=[], summary={}, axes={}, ended=None)
        run.log = run.rows.append
        run.define_metric = lambda name, step_metric=None, hidden=None: run.axes.update({name: step_metric})
        run.finish = lambda exit_code: setattr(run, "ended", exit_code)
        self.runs.setdefault(about["id"], []).append(run)
        return run


@pytest.fixture
def hub(monkeypatch):
    monkeypatch.setattr("synthlab.sweeps.trackers.wandb_tracker.require", lambda *_, **__: None)
    monkeypatch.setitem(sys.modules, "wandb", Hub())
    return sys.modules["wandb"]


def test_wandb_shows_each_run_of_a_stack(hub, tmp_path):
    about = {"name": "wandb", "folder": str(tmp_path), **SETTINGS["wandb"]}
    records = followed(tracker_of(about, tag="pilot"), configs())
    assert set(hub.runs) == {record.config.id for record in records}
    for record in records:
        (run,) = hub.runs[record.config.id]
        assert run.about["config"] == record.config.model_dump()
        told = {key: run.about[key] for key in ("project", "group", "mode", "name", "tags")}
        name = f"length nope log seed {record.config.seed}"
        assert told == {"project": "lab", "group": "tests", "mode": "offline", "name": name, "tags": ["pilot"]}
        curve = [{"step": row.step, "train/loss": row.loss} for row in record.training.itertuples()]
        tests = record.metrics.rename(columns={name: f"test/{name}" for name in METRICS}).to_dict("records")
        assert run.rows == [*curve, *tests]
        assert run.axes == {"step": None, "length": None, "train/*": "step", "test/*": "length"}
        assert run.summary == {**outcome(record), "error": None}
        assert run.ended == 0


def test_wandb_keeps_attempts_at_a_run_under_one_id(hub, tmp_path):
    following = tracker_of({"name": "wandb", "folder": str(tmp_path), **SETTINGS["wandb"]})
    stack = configs(seeds=1)
    with pytest.raises(RuntimeError), following.follow(stack):
        raise RuntimeError("gone")
    followed(following, stack)
    (attempts,) = hub.runs.values()
    assert [attempt.ended for attempt in attempts] == [1, 0]
    assert [attempt.summary["error"] for attempt in attempts] == ["RuntimeError: gone", None]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["offline", "disabled"])
def test_wandb_itself_leaves_nothing_but_its_folder(tmp_path, capfd, mode):
    pytest.importorskip("wandb", reason="needs the extra wandb")
    following = tracker_of({"name": "wandb", "project": "lab", "folder": str(tmp_path), "mode": mode})
    assert len(followed(following, configs(seeds=2))) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["wandb"] * (mode == "offline")
    assert len(list(tmp_path.glob("wandb/offline-run-*/*.wandb"))) == 2 * (mode == "offline")
    assert capfd.readouterr() == ("", "")
