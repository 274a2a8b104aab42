import math
import pickle
import sys
import threading
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from omegaconf import OmegaConf

from support.configs import config
from synthlab.config.composition import conf_dir
from synthlab.errors import InputError
from synthlab.regression.construction import resolve
from synthlab.regression.measures import METRICS, horizon
from synthlab.storage.records import Record
from synthlab.sweeps.trackers import TRACKERS, Followed, tracker_of
from synthlab.sweeps.trackers.base import Track, Tracker, outcome
from synthlab.training.execution import execute_together

SETTINGS = {
    "none": {},
    "wandb": {"project": "lab", "mode": "offline", "group": "tests"},
    "tensorboard": {},
}


class Notes(Tracker):
    """A user's own tracker: what it was told, by run; it breaks at the calls named in ``breaks``."""

    seen: dict[str, list] = {}  # noqa: RUF012

    def __init__(self, breaks: str = "", once: int = 1):
        self.breaks, self.at_once = breaks, once

    threads: set[int] = set()  # noqa: RUF012

    def begin(self, config):
        self.threads.add(threading.get_ident())
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
    Notes.threads.clear()


def configs(*overrides: str, seeds: int = 3):
    run = config("task=length", "outrep=log", *overrides)
    return [run.seeded({"seed": seed}) for seed in range(seeds)]


def followed(tracker, stack) -> list[Record]:
    """The records of a stack that ``tracker`` follows."""
    with tracker.following(stack) as tracks:
        records = execute_together(stack, tracks.observe)
        tracks.end(records)
    return records


def same(a: Record, b: Record) -> bool:
    return a.config == b.config and a.metrics.equals(b.metrics) and a.training.equals(b.training)


def tracker(name: str, folder: Path) -> Followed:
    if name != "none":
        pytest.importorskip(name, reason=f"needs the extra {name}")
    return tracker_of({"name": name, **({} if name == "none" else {"folder": str(folder)}), **SETTINGS[name]})


@pytest.mark.parametrize("once", [1, 4])
def test_points_arrive_at_every_record_every_and_records_at_the_end(once):
    stack = configs("protocol.steps=6", "protocol.record_every=2")
    records = followed(tracker_of({"name": OWN, "once": once}), stack)
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
    with pytest.raises(type(error)), told.following(stack):
        raise error
    said = {"RuntimeError": "RuntimeError: out of memory", "KeyboardInterrupt": "KeyboardInterrupt"}
    for each in stack:
        assert Notes.seen[each.id] == [("begin",), ("end", None, said[type(error).__name__])]


@pytest.mark.parametrize("once", [1, 4])
@pytest.mark.parametrize("call", ["begin", "point", "end"])
def test_a_tracker_that_fails_costs_no_run_and_says_so_once(capsys, call, once):
    stack, failing = configs(), tracker_of({"name": OWN, "breaks": call, "once": once})
    records = [followed(failing, stack), followed(pickle.loads(pickle.dumps(failing)), stack)]
    assert all(same(record, alone) for record, alone in zip(records[0], execute_together(stack), strict=True))
    said = f"tracker={OWN}: given up (OSError: the disk is full); runs go on without it\n"
    assert capsys.readouterr() == ("", said)
    if once == 1:
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
        (
            {"name": "wandb", "project": "p", "folder": "x", "mode": "of"},
            "tracker.mode=of: must be 'online', 'offline' or 'disabled'",
        ),
        ({"name": "none", "folder": "x"}, "tracker.folder=x: unknown key; there are none but name"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(config, line):
    with pytest.raises(InputError) as refused:
        tracker_of(config)
    assert refused.value.lines == (line,)


@pytest.mark.parametrize("name", ["wandb", "tensorboard"])
@pytest.mark.parametrize("there", ["nothing", "a folder of that name"])
def test_a_missing_package_is_refused_before_training(name, there, monkeypatch, tmp_path):
    folder = tmp_path / name
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, name, raising=False)
    spec = find_spec(name) if there != "nothing" else None
    monkeypatch.setattr("synthlab.errors.find_spec", lambda package: spec)
    with pytest.raises(InputError) as refused:
        tracker_of({"name": name, **yaml.safe_load((conf_dir() / "tracker" / f"{name}.yaml").read_text())})
    line = f"tracker={name}: needs {name}; pip install -e '.[{name}]'"
    assert refused.value.lines == (line,)


def test_every_tracker_has_a_config_file_whose_keys_are_its_arguments():
    files = {path.stem: yaml.safe_load(path.read_text()) for path in (conf_dir() / "tracker").glob("*.yaml")}
    assert set(files) == set(TRACKERS)
    for name, file in files.items():
        assert file["name"] == name
        assert TRACKERS.complete(file) == file


@pytest.mark.parametrize(("name", "folder"), [("wandb", "here"), ("tensorboard", "here/tensorboard")])
def test_a_tracker_keeps_its_files_in_the_results_folder(name, folder):
    file = OmegaConf.load(conf_dir() / "tracker" / f"{name}.yaml")
    assert OmegaConf.create({"results": "here", "tracker": file}).tracker.folder == folder


@pytest.mark.parametrize("name", ["wandb", "tensorboard"])
def test_a_folder_of_another_machine_is_refused(name, monkeypatch):
    monkeypatch.setattr(f"synthlab.sweeps.trackers.{name}_tracker.require", lambda *_, **__: None)
    with pytest.raises(InputError) as refused:
        tracker_of({"name": name, "folder": "s3://lab/results", **SETTINGS[name]})
    assert refused.value.lines == ("tracker.folder=s3://lab/results: must be a folder of this machine; name one",)


@pytest.mark.parametrize("name", ["wandb", "tensorboard"])
def test_a_folder_that_cannot_be_written_costs_no_run(name, tmp_path, capfd):
    (tmp_path / "file").write_text("")
    records = followed(tracker(name, tmp_path / "file"), configs(seeds=2))
    assert [record.status for record in records] == ["finished", "finished"]
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"tracker={name}: given up (")
    assert err.count("\n") == 1


def test_tensorboard_writes_each_run_of_a_stack(tmp_path, capfd):
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    records = followed(tracker("tensorboard", tmp_path), configs())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(record.config.id for record in records)
    for record in records:
        read = EventAccumulator(str(tmp_path / record.config.id), size_guidance={"scalars": 0}).Reload()
        curve = [(event.step, event.value) for event in read.Scalars("train/loss")]
        assert curve == [(row.step, pytest.approx(row.loss)) for row in record.training.itertuples()]
        assert {f"test/{name}" for name in METRICS} <= set(read.Tags()["scalars"])
    assert capfd.readouterr() == ("", "")


def test_wandb_writes_each_run_of_a_stack_and_asks_for_nothing(tmp_path, capfd):
    records = followed(tracker("wandb", tmp_path), configs(seeds=2))
    written = {path.stem.removeprefix("run-") for path in tmp_path.glob("wandb/offline-run-*/*.wandb")}
    assert written == {record.config.id for record in records}
    assert capfd.readouterr() == ("", "")
