import math
import pickle
import re
import sys
import types
from contextvars import ContextVar
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
import yaml

from support.configs import config
from synthlab.errors import InputError
from synthlab.numbers.run import METRICS, horizon
from synthlab.runs.composition import conf_dir
from synthlab.runs.run import resolve
from synthlab.storage.records import Record
from synthlab.sweeps.trackers import TRACKERS, EnsembleTracker, Tracker, summarize_outcome, tracker_of
from synthlab.training.execution import execute_together


class Notes(Tracker):
    """A tracker that notes its calls, by run, and fails in the calls named in ``breaks``."""

    seen: dict[str, list] = {}  # noqa: RUF012

    def __init__(self, breaks: str = ""):
        self.breaks = breaks

    def begin(self, config):
        self.run = config.id
        self.note("begin")

    def point(self, step, loss):
        self.note("point", step, loss)

    def end(self, record, error=None):
        self.note("end", record, error)

    def note(self, call: str, *what):
        self.seen.setdefault(self.run, []).append((call, *what))
        if call in self.breaks.split():
            raise OSError("the disk\nis full")


OWN = f"{__name__}:Notes"


@pytest.fixture(autouse=True)
def _forget():
    Notes.seen.clear()


def configs(*overrides: str, seeds: int = 3):
    run = config("task=length", "outrep=log", *overrides)
    return [run.with_seeds({"seed": seed}) for seed in range(seeds)]


def follow(tracker, stack) -> list[Record]:
    """Train runs side by side and show them; return their records."""
    with EnsembleTracker(tracker, stack) as tracks:
        records = execute_together(stack, tracks.observe)
        tracks.end(records)
    return records


def is_same(a: Record, b: Record) -> bool:
    return a.config == b.config and a.metrics.equals(b.metrics) and a.training.equals(b.training)


def test_a_tracker_gets_each_point_of_the_curve_and_the_record():
    stack = configs("protocol.steps=6", "protocol.record_every=2", "protocol.optimizer=sgd")
    stack[1] = resolve(stack[1].model_dump() | {"protocol": {**stack[1].protocol.model_dump(), "lr": 1e30}})
    records = follow(tracker_of({"name": OWN}), stack)
    assert [record.status for record in records] == ["finished", "diverged", "finished"]
    assert all(map(is_same, records, execute_together(stack)))
    for record in records:
        points = [("point", *row) for row in record.training.itertuples(index=False)]
        assert Notes.seen[record.config.id] == [("begin",), *points, ("end", record, None)]
        assert all(math.isfinite(loss) for _, _, loss in points)
    assert [step for _, step, _ in Notes.seen[stack[0].id][1:-1]] == [2, 4, 6]


@pytest.mark.parametrize("error", [RuntimeError("out of\nmemory"), KeyboardInterrupt()])
def test_a_run_that_is_interrupted_ends_without_a_record(error):
    stack = configs()
    with pytest.raises(type(error)), EnsembleTracker(tracker_of({"name": OWN}), stack):
        raise error
    line = {"RuntimeError": "RuntimeError: out of memory", "KeyboardInterrupt": "KeyboardInterrupt"}
    assert Notes.seen == {each.id: [("begin",), ("end", None, line[type(error).__name__])] for each in stack}


@pytest.mark.parametrize("call", ["begin", "point", "end"])
def test_a_tracker_that_fails_ends_no_run_and_is_given_up_with_one_line(capsys, call):
    stack, failing = configs(), tracker_of({"name": OWN, "breaks": call})
    records = follow(failing, stack)
    follow(pickle.loads(pickle.dumps(failing)), stack)
    assert all(map(is_same, records, execute_together(stack)))
    line = f"tracker={OWN}: given up (OSError: the disk is full); runs go on without it\n"
    assert capsys.readouterr() == ("", line)
    assert sum(each[0] == call for run in Notes.seen.values() for each in run) == 1


def test_the_outcome_of_a_run():
    (record,) = execute_together(configs(seeds=1))
    ended = summarize_outcome(record)
    assert list(ended) == ["status", "horizon", *(f"last_{name}" for name in METRICS)]
    assert ended["horizon"] == horizon(record.metrics["relative_error"].to_numpy())
    assert ended["last_mse"] == record.metrics["mse"][record.config.test_length - 1]
    assert summarize_outcome(None, "why") == {"status": "failed", "error": "why"}
    assert summarize_outcome(replace(record, diverged_at=3)) == {"status": "diverged", "diverged_at": 3}


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ({"name": "wandbb"}, "tracker=wandbb: unknown, did you mean wandb?"),
        ({"name": "tensorboard", "folder": "s3://x"}, "tracker.folder=s3://x: must be a folder of this machine"),
        ({"name": "builtins:dict"}, "tracker=builtins:dict: must be a subclass of synthlab.sweeps.trackers.Tracker"),
    ],
)
def test_an_invalid_tracker_is_one_line(config, line):
    assert tracker_of({"name": "none"}) is None
    if "tensorboard" in config["name"]:
        pytest.importorskip("tensorboard")
    with pytest.raises(InputError, match=f"^{re.escape(line)}"):
        tracker_of(config)


@pytest.mark.parametrize("name", TRACKERS)
def test_a_missing_package_is_one_line_before_training(name, monkeypatch):
    # A folder of that name, such as W&B's own, is no package.
    monkeypatch.setattr("synthlab.errors.find_spec", lambda package: ModuleSpec(package, None, is_package=True))
    with pytest.raises(InputError, match=rf"^tracker={name}: needs {name}; pip install -e '.\[{name}\]'$"):
        tracker_of({"name": name, **yaml.safe_load((conf_dir() / "tracker" / f"{name}.yaml").read_text())})


def read_events(folder: Path):
    """Return a run's scalars by tag, as (step, value), and its texts by tag."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    scalars = {tag: [(event.step, event.value) for event in read.Scalars(tag)] for tag in read.Tags()["scalars"]}
    words = {tag: read.Tensors(tag)[-1].tensor_proto.string_val for tag in read.Tags()["tensors"]}
    return scalars, {tag.removesuffix("/text_summary"): word[0].decode() for tag, word in words.items() if word}


def test_tensorboard_shows_each_run_and_one_that_begins_again_once(tmp_path, capfd):
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    tracker, stack = tracker_of({"name": "tensorboard", "folder": str(tmp_path)}), configs(seeds=2)
    with EnsembleTracker(tracker, stack) as tracks:
        tracks.observe(2, [5.0, 6.0])
        tracks.end([None, None], "killed")
    scalars, text = read_events(tmp_path / stack[0].id)
    assert (scalars["train/loss"], text) == ([(2, 5.0)], {"status": "failed", "error": "killed"})
    records = follow(tracker, stack)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(record.config.id for record in records)
    for record in records:
        scalars, text = read_events(tmp_path / record.config.id)
        assert scalars["train/loss"] == [(row.step, pytest.approx(row.loss)) for row in record.training.itertuples()]
        for name in METRICS:
            values = zip(record.metrics["length"], record.metrics[name], strict=True)
            assert scalars[f"test/{name}"] == [(length, pytest.approx(value)) for length, value in values]
        assert scalars["summary/horizon"] == [(0, summarize_outcome(record)["horizon"])]
        assert text["status"] == "finished"
    assert capfd.readouterr() == ("", "")


class Hub(types.ModuleType):
    """The calls of W&B and Trackio that the lab makes, and what they were given, by the run's name or id."""

    current = ContextVar("current", default=None)

    def __init__(self, name: str):
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None, is_package=True)
        self.runs: dict[str, list[types.SimpleNamespace]] = {}
        self.setup, self.termsetup, self.Settings = lambda: None, lambda *_: None, dict

    def init(self, **about):
        print("* Created new run")
        run = types.SimpleNamespace(about=about, rows=[], axes={}, ended=None)
        if "embed" in about and self.current.get() is not None:  # Trackio has one run at a time in each context
            self.current.get().finish()
        self.current.set(run)
        run.log = lambda values, step=None: run.rows.append(values if step is None else (step, values))
        run.define_metric = lambda name, step_metric=None, hidden=None: run.axes.update({name: step_metric})
        run.finish = lambda exit_code=0: setattr(run, "ended", exit_code)
        self.runs.setdefault(about.get("id", about["name"]), []).append(run)
        return run


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_wandb_and_trackio_show_each_run(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("synthlab.sweeps.trackers.require", lambda *_, **__: None)
    monkeypatch.setitem(sys.modules, name, hub := Hub(name))
    settings = {"folder": str(tmp_path), "mode": "offline"} if name == "wandb" else {"space_id": "me/lab"}
    tracker = tracker_of({"name": name, "project": "lab", "group": "tests", **settings}, tag="pilot")
    stack = configs()
    with pytest.raises(RuntimeError), EnsembleTracker(tracker, stack):
        raise RuntimeError("gone")
    records = follow(tracker, stack)
    assert len(hub.runs) == len(stack)
    assert (capsys.readouterr().out == "") == (name == "trackio")  # W&B is told to be silent by its settings
    for record, (failed, run) in zip(records, hub.runs.values(), strict=True):
        assert failed.rows == [{"status": "failed", "error": "RuntimeError: gone"}]
        assert failed.ended == (name == "wandb")
        assert run.about.items() >= {"project": "lab", "group": "tests", "resume": "allow"}.items()
        assert run.about["name"].startswith(f"length nope log seed {record.config.seed}")
        assert record.config.id in (run.about.get("id"), run.about["name"].split()[-1])
        assert run.about["config"].items() >= record.config.model_dump().items()
        assert "pilot" in (run.about["tags"] if name == "wandb" else run.about["config"].values())
        curve = [(row.step, {"train/loss": row.loss}) for row in record.training.itertuples()]
        tests = record.metrics.rename(columns={metric: f"test/{metric}" for metric in METRICS}).to_dict("records")
        assert run.rows == [*curve, *tests, {**summarize_outcome(record), "error": ""}]
        assert run.axes == ({"length": None, "test/*": "length"} if name == "wandb" else {})
        assert run.ended == 0


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["offline", "disabled"])
def test_wandb_itself_writes_to_its_folder_alone(tmp_path, capfd, mode):
    pytest.importorskip("wandb", reason="needs the extra wandb")
    tracker = tracker_of({"name": "wandb", "project": "lab", "folder": str(tmp_path), "mode": mode})
    assert len(follow(tracker, configs(seeds=2))) == 2
    assert len(list(tmp_path.glob("wandb/offline-run-*/*.wandb"))) == 2 * (mode == "offline")
    assert capfd.readouterr() == ("", "")


def test_trackio_itself_keeps_each_run(tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    trackio = pytest.importorskip("trackio", reason="needs the extra trackio")
    tracker, stack = tracker_of({"name": "trackio", "project": "lab"}), configs(seeds=2)
    records = follow(tracker, stack)
    follow(tracker, stack[:1])  # continues under the same name
    assert capfd.readouterr() == ("", "")
    runs = {run.name.split()[-1]: run for run in trackio.Api().runs("lab")}
    assert runs.keys() == {record.config.id for record in records}
    assert all(runs[each.id].config["seed"] == each.seed for each in stack)
