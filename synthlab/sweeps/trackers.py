"""Trackers: services that show runs while they train. Records and numbers do not depend on them."""

import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from contextvars import copy_context
from copy import copy
from io import StringIO
from pathlib import Path
from typing import Any, Literal

from synthlab.analysis.tables import horizon_of
from synthlab.errors import InputError, escape, format_error, require
from synthlab.runs.registry import Registry
from synthlab.runs.run import Run
from synthlab.storage.records import Record, flatten


class Tracker(ABC):
    """A service that shows a run while it trains. No number depends on it, and its failure ends no run.

    The constructor's keyword arguments are the keys of the config group ``tracker``. It opens nothing, because trackers
    are pickled on their way to workers. Each run then gets a copy of the tracker.

    Attributes:
        tag: The tag of the run; None without one. Set after the constructor.

    Example:
        >>> import synthlab
        >>> class Last(synthlab.Tracker):
        ...     def begin(self, config): ...
        ...     def point(self, step, loss): ...
        ...     def end(self, record, error=None):
        ...         print(error or record.status)
        >>> Last().end(None, "out of memory")
        out of memory
    """

    tag: str | None = None
    _name: str = "tracker"

    @abstractmethod
    def begin(self, config: Run) -> None:
        """Begin to follow a run. One that was interrupted begins again under the same ``config.id``."""

    @abstractmethod
    def point(self, step: int, loss: float) -> None:
        """Log a point of the training curve. A run that has diverged has no further points.

        Args:
            step: The training step, from 1.
            loss: The mean loss over the steps since the point before, up to this one; finite.
        """

    @abstractmethod
    def end(self, record: Record | None, error: str | None = None) -> None:
        """End the run, which has a ``record``, or failed with an ``error`` in one line. No call follows."""


class WandB(Tracker):
    """Weights & Biases: ``train/loss`` against the step, and ``test/mse`` and the other metrics against ``length``.

    A run's id there is its identity, so a run that begins again continues.
    """

    def __init__(
        self,
        project: str,
        folder: str,
        entity: str | None = None,
        group: str | None = None,
        mode: Literal["online", "offline", "disabled"] = "online",
    ):
        require("wandb", "wandb", what="tracker=wandb")
        self.about: dict[str, Any] = {"project": project, "entity": entity, "group": group, "mode": mode}
        self.about["dir"] = check_local(folder)

    def begin(self, config):
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # with it, 30 runs end in 20 seconds, without in 2
        import wandb  # pyright: ignore[reportMissingImports] - an extra

        # Nothing of the machine, which is the same for all runs of an ensemble; finishing may last a minute, and what
        # is left then is on disk, for wandb sync.
        limits: Any = {"init_timeout": 30, "finish_timeout": 60, "finish_timeout_raises": True}
        quiet: Any = {"silent": True, "console": "off", "x_disable_stats": True, "x_save_requirements": False}
        settings = wandb.Settings(disable_git=True, **quiet, **limits)
        wandb.setup()  # starts W&B's own process, which ends with this one
        wandb.termsetup(settings, None)  # otherwise W&B asks for an account on the terminal
        Path(self.about["dir"]).mkdir(parents=True, exist_ok=True)
        again: Any = {
            "id": config.id,
            "reinit": "create_new",
            "resume": "allow",
            "tags": [self.tag] if self.tag else None,
        }
        self.run = wandb.init(
            name=name_run(config), settings=settings, config=config.model_dump(), **self.about, **again
        )
        self.run.define_metric("length", hidden=True)
        self.run.define_metric("test/*", step_metric="length")

    def point(self, step, loss):
        self.run.log({"train/loss": loss}, step=step)

    def end(self, record, error=None):
        for length, values in list_tests(record):
            self.run.log({"length": length, **values})
        self.run.log({"error": "", **summarize_outcome(record, error)})  # an earlier attempt may have left an error
        self.finish(record is None)

    def finish(self, failed: bool) -> None:
        self.run.finish(exit_code=int(failed))


class Trackio(WandB):
    """Trackio, by Hugging Face: the curves of W&B, in files of this machine (``TRACKIO_DIR``) or in a Space."""

    def __init__(self, project: str, group: str | None = None, space_id: str | None = None):
        require("trackio", "trackio", what="tracker=trackio")
        self.about = {"project": project, "group": group, "space_id": space_id}

    def begin(self, config):
        import trackio  # pyright: ignore[reportMissingImports] - an extra

        settings = config.model_dump() | ({"tag": self.tag} if self.tag else {})
        quiet = {"embed": False, "auto_log_gpu": False, "auto_log_cpu": False}
        about = {**self.about, "config": settings, "resume": "allow", **quiet}
        name = f"{name_run(config)} {config.id}"  # Trackio finds a run again by its name
        with redirect_stdout(StringIO()):
            self.run = copy_context().run(lambda: trackio.init(name=name, **about))  # one run has a context of its own

    def finish(self, failed):
        with redirect_stdout(StringIO()):
            self.run.finish()


class TensorBoard(Tracker):
    """TensorBoard: scalars ``train/loss``, ``test/mse`` and the other metrics with the length as step.

    The settings are hyperparameters, with the summary as their metrics; the status is text. A run that begins again
    replaces its first attempt.
    """

    def __init__(self, folder: str):
        require("tensorboard", "tensorboard", what="tracker=tensorboard")
        self.folder = check_local(folder)

    def begin(self, config):
        from torch.utils.tensorboard import SummaryWriter

        settings = flatten(config.model_dump()) | {"tag": self.tag}
        self.settings = {key: each if isinstance(each, int | float) else str(each) for key, each in settings.items()}
        self.writer = SummaryWriter(f"{self.folder}/{config.id}", purge_step=0)

    def point(self, step, loss):
        self.writer.add_scalar("train/loss", loss, step)

    def end(self, record, error=None):
        for length, values in list_tests(record):
            for name, value in values.items():
                self.writer.add_scalar(name, value, length)
        ended = summarize_outcome(record, error)
        for name in {"status", "error"} & ended.keys():
            self.writer.add_text(name, ended.pop(name))
        self.writer.add_hparams(self.settings, {f"summary/{key}": ended[key] for key in ended}, run_name=".")
        self.writer.close()


TRACKERS = Registry("tracker", Tracker, {"wandb": WandB, "trackio": Trackio, "tensorboard": TensorBoard})
_failed: set[str] = set()  # names of the trackers that have failed in this process


def tracker_of(config: Mapping[str, Any], tag: str | None = None) -> Tracker | None:
    """Return the tracker that ``config`` names, for runs with a ``tag`` or none; None for ``none``.

    Raises InputError for an unknown one, for its keys, and if its package is missing.
    """
    if config == {"name": "none"}:
        return None
    tracker = TRACKERS.build(config)
    tracker.tag, tracker._name = tag, config["name"]
    _failed.discard(tracker._name)
    return tracker


class EnsembleTracker:
    """The runs of an ensemble, each followed by a copy of ``tracker``; a context whose end ends them all.

    The first error of a tracker is printed in one line on stderr; after it, this process calls the tracker no more.
    """

    def __init__(self, tracker: Tracker, configs: Sequence[Run]):
        self.tracks = [copy(tracker) for _ in configs]
        for track, config in zip(self.tracks, configs, strict=True):
            _attempt(track, track.begin, config)

    def observe(self, step: int, losses: Sequence[float]) -> None:
        """Log a point of each training curve, as ``train`` gives them; NaN stands for a run that has diverged."""
        for track, loss in zip(self.tracks, losses, strict=True):
            if not math.isnan(loss):
                _attempt(track, track.point, step, loss)

    def end(self, records: Sequence[Record | None], error: str | None = None) -> None:
        """End each run with its record, in order, or with None for one that failed. A second call does nothing."""
        tracks, self.tracks = self.tracks, []
        for track, record in zip(tracks, records, strict=False):
            _attempt(track, track.end, record, error)

    def __enter__(self) -> "EnsembleTracker":
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.end([None] * len(self.tracks), format_error(error) if error else "it left no record")


def _attempt(tracker: Tracker, call: Callable[..., None], *arguments: Any) -> None:
    """Call a method of the tracker, unless one has failed."""
    if tracker._name in _failed:
        return
    try:
        call(*arguments)
    except Exception as problem:  # a tracker, or its service, can fail in any way
        from tqdm import tqdm

        _failed.add(tracker._name)
        line = f"tracker={tracker._name}: given up ({format_error(problem)}); runs go on without it"
        tqdm.write(escape(line), file=sys.stderr)  # above the bar, if there is one


def summarize_outcome(record: Record | None, error: str | None = None) -> dict[str, Any]:
    """Return the summary of a run: its status, and its horizon and last metrics, ``diverged_at``, or its error."""
    if record is None:
        return {"status": "failed", "error": str(error)}
    if record.diverged_at is not None:
        return {"status": record.status, "diverged_at": record.diverged_at}
    last = {f"last_{name}": float(record.metrics[name].iloc[-1]) for name in record.metrics if name != "length"}
    return {"status": record.status, **horizon_of(record), **last}


def list_tests(record: Record | None) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield each test length, and the metrics there by tag."""
    for row in record.metrics.to_dict("records") if record is not None else ():
        yield int(row.pop("length")), {f"test/{name}": value for name, value in row.items()}


def name_run(config: Run) -> str:
    """Return a name for a run: ``length nope log seed 0``."""
    names = [getattr(config, group, {"name": ""})["name"] for group in ("task", "encoding", "outrep")]
    return " ".join([*filter(None, names), f"seed {config.seed}"])


def check_local(folder: str) -> str:
    """Return the folder that a tracker writes to. Raises InputError for an address."""
    if "://" in folder:
        raise InputError(f"tracker.folder={folder}: must be a folder of this machine; name one")
    return os.path.abspath(folder)
