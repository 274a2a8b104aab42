"""Trackers: where people follow runs while they train. Records need none, and no number depends on one.

A tracker that fails (no network, a full disk) costs no run: ``Followed`` says so in one line and goes on without it.
"""

import math
import os
import secrets
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

from synthlab.analysis.tables import horizon_of
from synthlab.config.base import Config
from synthlab.config.registry import Registry, shown
from synthlab.errors import InputError, in_one_line, require
from synthlab.storage.records import Record, flat

_lock = threading.Lock()
_given_up: set[str] = set()  # keys of the trackers that have failed in this process


class Track(ABC):
    """One run that is followed; see ``Tracker``."""

    @abstractmethod
    def point(self, step: int, loss: float) -> None:
        """Take a point of the training curve. There are no more of a run that has diverged.

        Args:
            step: The training step, from 1.
            loss: The mean loss over the steps since the point before, up to this one; finite.
        """

    @abstractmethod
    def end(self, record: Record | None, error: str | None = None) -> None:
        """The run is over. Nothing comes after it.

        Args:
            record: The run's record; None where it failed.
            error: In one line, why there is no record.
        """


class Tracker(ABC):
    """What runs are followed in while they train. No number depends on it, and one that fails costs no run.

    The constructor's keyword arguments are the keys of the config group ``tracker``. It opens nothing: trackers are
    pickled on their way to workers.

    Attributes:
        at_once: How many runs begin, or end, at the same time, in threads; 1: one by one, in the thread that trains.

    Example:
        >>> import synthlab
        >>> class Say(synthlab.Tracker):
        ...     def begin(self, config):
        ...         print(f"seed {config.seed} begins")
        ...         return SayTrack()
        >>> class SayTrack(synthlab.Track):
        ...     def point(self, step, loss):
        ...         print(f"step {step}")
        ...     def end(self, record, error=None):
        ...         print(error or record.status)
        >>> from synthlab.sweeps.trackers import Followed
        >>> records = synthlab.run(task="sum", seed=5, protocol={"steps": 2, "record_every": 1}, progress=False)
        >>> with Followed("say", Say()).following([records[0].config]) as tracks:
        ...     tracks.observe(1, [0.5])
        ...     tracks.end(records)
        seed 5 begins
        step 1
        finished
    """

    at_once = 1

    @abstractmethod
    def begin(self, config: Config) -> Track:
        """Follow a run that is about to train. Runs that train side by side are followed at the same time.

        Args:
            config: The run's config. A run that was interrupted, or whose record was removed, begins again under the
                same ``config.id``.

        Returns:
            What takes the run's points, and its end.
        """


class NoTracker(Tracker, Track):
    """Follows nothing."""

    def begin(self, config):
        return self

    def point(self, step, loss):
        pass

    def end(self, record, error=None):
        pass


class WandB(Tracker):
    """Weights & Biases: ``train/loss`` against ``step``; ``test/mse`` and the other metrics against ``length``.

    A run's id there is its identity, so one that begins again goes on in the same place, with the same points. Nothing
    is printed, and nothing written outside ``folder``.
    """

    at_once = 16  # online each waits a second or so for answers

    def __init__(
        self,
        project: str,
        folder: str,
        entity: str | None = None,
        group: str | None = None,
        mode: Literal["online", "offline", "disabled"] = "online",
    ):
        require("wandb", "wandb", what="tracker=wandb")
        self.folder, self.about = _local(folder), {"project": project, "entity": entity, "group": group, "mode": mode}

    def begin(self, config):
        folder = Path(self.folder).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()  # where it cannot write, W&B would by itself do so elsewhere
        os.environ.setdefault("WANDB_CACHE_DIR", str(folder))  # of the log of W&B's own process
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # with it, 30 runs end in 20 seconds, without in 2
        import wandb  # pyright: ignore[reportMissingImports] - an extra

        settings = wandb.Settings(
            silent=True,
            console="off",
            disable_git=True,
            disable_code=True,
            x_disable_stats=True,  # of the machine: the same for all runs of an ensemble
            x_save_requirements=False,
            init_timeout=30,  # seconds, by default 90
            finish_timeout=60,  # seconds, by default for ever; what is left is on the disk, for wandb sync
            finish_timeout_raises=True,
        )
        with _lock:
            wandb.setup()  # starts W&B's own process, which leaves with this one
            wandb.termsetup(settings, None)  # or W&B would ask on the terminal for an account
        parts = [getattr(config, group, {"name": ""})["name"] for group in ("task", "encoding", "outrep")]
        run = wandb.init(
            config=config.model_dump(),
            settings=settings,
            id=config.id,
            name=" ".join([*filter(None, parts), f"seed {config.seed}"]),
            dir=str(folder),
            reinit="create_new",
            resume="allow",
            **self.about,
        )
        for axis, drawn in {"step": "train/*", "length": "test/*"}.items():
            run.define_metric(axis, hidden=True)
            run.define_metric(drawn, step_metric=axis)
        return _WandBTrack(run)


class _WandBTrack(Track):
    def __init__(self, run: Any):
        self.run = run

    def point(self, step, loss):
        self.run.log({"step": step, "train/loss": loss})

    def end(self, record, error=None):
        for length, values in _tests(record):
            self.run.log({"length": length, **values})
        self.run.summary.update({"error": None, **outcome(record, error)})  # an earlier attempt may have left one
        self.run.finish(exit_code=int(record is None))


class TensorBoard(Tracker):
    """TensorBoard: scalars ``train/loss``, ``test/mse`` and the other metrics with the length as step, and what a run
    amounts to below ``summary/``; settings as hyperparameters; the status as text.

    A run that begins again takes the place of its first attempt; a TensorBoard that has read that must be started anew.
    """

    def __init__(self, folder: str):
        require("tensorboard", "tensorboard", what="tracker=tensorboard")
        self.folder = _local(folder)

    def begin(self, config):
        folder = Path(self.folder, config.id).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        for older in folder.glob("events.out.tfevents.*"):
            older.unlink()
        return _TensorBoardTrack(folder / f"events.out.tfevents.{time.time():.6f}", config)


class _TensorBoardTrack(Track):
    """An event file. Not by a SummaryWriter, whose thread (one a run) prints a traceback where the disk is full."""

    def __init__(self, path: Path, config: Config):
        from torch.utils.tensorboard.summary import hparams

        settings = flat(config.model_dump())
        plain = {key: value if isinstance(value, int | float) else shown(value) for key, value in settings.items()}
        _, start, self.success = hparams(plain, {})
        self.path = path
        self._write({"file_version": "brain.Event:2"}, {"summary": start})

    def point(self, step, loss):
        self._write(_scalars({"train/loss": loss}, step))

    def end(self, record, error=None):
        from torch.utils.tensorboard.summary import text

        ended = outcome(record, error)
        words = {name: ended.pop(name) for name in ("status", "error") if name in ended}
        self._write(
            *(_scalars(values, length) for length, values in _tests(record)),
            _scalars({f"summary/{name}": value for name, value in ended.items()}, 0),
            *({"summary": text(name, word)} for name, word in words.items()),
            *([{"summary": self.success}] if words["status"] == "finished" else []),
        )

    def _write(self, *events: dict[str, Any]) -> None:
        from tensorboard.compat.proto.event_pb2 import Event  # pyright: ignore[reportMissingImports] - an extra
        from tensorboard.summary.writer.record_writer import RecordWriter  # pyright: ignore[reportMissingImports] - an extra

        with open(self.path, "ab") as file:  # opened each time: nothing is left open where a run is given up
            for event in events:
                RecordWriter(file).write(Event(wall_time=time.time(), **event).SerializeToString())


TRACKERS = Registry("tracker", Tracker, {"none": NoTracker, "wandb": WandB, "tensorboard": TensorBoard})


def outcome(record: Record | None, error: str | None = None) -> dict[str, Any]:
    """What a run amounts to: ``status``, then ``horizon``, if it has one, and each metric at the last test length
    (``last_mse``, ...) where it finished, ``diverged_at`` where it diverged, ``error`` where it failed."""
    if record is None:
        return {"status": "failed", "error": str(error)}
    if record.diverged_at is not None:
        return {"status": record.status, "diverged_at": record.diverged_at}
    last = {f"last_{name}": float(record.metrics[name].iloc[-1]) for name in record.metrics if name != "length"}
    return {"status": record.status, **horizon_of(record), **last}


def tracker_of(config: Mapping[str, Any]) -> "Followed":
    """The tracker that ``config`` names. Raises InputError, before anything is trained, for one that is not known, for
    its keys, and where its package is missing."""
    tracker = TRACKERS.build(config)
    return Followed(config["name"], tracker)


class Followed:
    """A tracker whose errors end no run: the first is reported in one line on stderr, and the tracker is then disabled
    in this process (each worker has a copy of its own)."""

    def __init__(self, name: str, tracker: Tracker):
        self.name, self.tracker = name, tracker
        self.key = secrets.token_hex(8)  # is pickled too, so that a worker knows what it has given up

    @contextmanager
    def following(self, configs: Sequence[Config]) -> Iterator["Tracks"]:
        """Follow the runs of an ensemble. Those that have not ended at the end of the block have failed."""
        tracks, error = Tracks(self, configs), "it left no record"
        try:
            yield tracks
        except BaseException as problem:
            error = in_one_line(problem)
            raise
        finally:
            tracks.end([None] * len(configs), error)

    def tried(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """What ``call`` returns; None where the tracker fails, or has failed."""
        if self.key in _given_up:
            return None
        try:
            return call(*arguments)
        except Exception as problem:  # a tracker, or what it talks to, can fail in any way
            with _lock:
                first = self.key not in _given_up
                _given_up.add(self.key)
            if first:
                from tqdm import tqdm

                line = f"tracker={self.name}: given up ({in_one_line(problem)}); runs go on without it"
                tqdm.write(line, file=sys.stderr)  # above the bar, where there is one
            return None

    def each(self, call: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """``tried`` for each run of an ensemble, as many at once as the tracker takes."""
        if self.tracker.at_once == 1:
            return list(map(partial(self.tried, call), *arguments))
        with ThreadPoolExecutor(self.tracker.at_once) as pool:
            return list(pool.map(partial(self.tried, call), *arguments))


class Tracks:
    """The runs of an ensemble, followed together."""

    def __init__(self, followed: Followed, configs: Sequence[Config]):
        self._followed = followed
        self._tracks = followed.each(followed.tracker.begin, configs)

    def observe(self, step: int, losses: list[float]) -> None:
        """Log a point of each training curve, as ``train`` gives them; nan stands for a run that has diverged."""
        for track, loss in zip(self._tracks, losses, strict=True):
            if not math.isnan(loss):
                self._followed.tried(lambda track=track, loss=loss: track.point(step, loss))

    def end(self, records: Sequence[Record | None], error: str | None = None) -> None:
        """End each run with its record, in order, or with None for one that failed. A second call does nothing."""
        tracks, self._tracks = self._tracks, []
        if tracks:
            self._followed.each(lambda track, record: track.end(record, error), tracks, records)


def _local(folder: str) -> str:
    if "://" in folder:
        raise InputError(f"tracker.folder={folder}: must be a folder of this machine; name one")
    return folder


def _tests(record: Record | None) -> Iterator[tuple[int, dict[str, float]]]:
    """Each test length, and the metrics there by tag."""
    if record is not None:
        for row in record.metrics.to_dict("records"):
            yield int(row["length"]), {f"test/{name}": value for name, value in row.items() if name != "length"}


def _scalars(values: Mapping[str, float | int], step: int) -> dict[str, Any]:
    from tensorboard.compat.proto.summary_pb2 import Summary  # pyright: ignore[reportMissingImports] - an extra

    return {"step": step, "summary": Summary(value=[Summary.Value(tag=k, simple_value=v) for k, v in values.items()])}
