"""The interface of trackers, and the summary of a finished run that they get."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from synthlab.analysis.tables import horizon_of
from synthlab.config.base import Config
from synthlab.errors import InputError
from synthlab.storage.records import Record


class Track(ABC):
    """One run that is followed; see ``Tracker``."""

    @abstractmethod
    def point(self, step: int, loss: float) -> None:
        """Log a point of the training curve. A run that has diverged has no further points.

        Args:
            step: The training step, from 1.
            loss: The mean loss over the steps since the point before, up to this one; finite.
        """

    @abstractmethod
    def end(self, record: Record | None, error: str | None = None) -> None:
        """End the run. No call follows it.

        Args:
            record: The run's record; None if it failed.
            error: The reason, in one line, if there is no record.
        """


class Tracker(ABC):
    """A service that shows runs while they train. No number depends on it, and its failure ends no run.

    The constructor's keyword arguments are the keys of the config group ``tracker``. It opens nothing: trackers are
    pickled to be sent to workers.

    Attributes:
        tag: The tag of the runs; None without one. Set after the constructor.

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
        >>> with Followed("say", Say()).follow([records[0].config]) as tracks:
        ...     tracks.observe(1, [0.5])
        ...     tracks.end(records)
        seed 5 begins
        step 1
        finished
    """

    tag: str | None = None

    @abstractmethod
    def begin(self, config: Config) -> Track | None:
        """Follow a run that is about to train. Runs of an ensemble are followed at the same time.

        Args:
            config: The run's config. A run that was interrupted, or whose record was removed, begins again under the
                same ``config.id``.

        Returns:
            The track that gets the run's points, and its end; None for a run that is not followed.
        """


class NoTracker(Tracker):
    """A tracker that follows nothing."""

    def begin(self, config):
        return None


def outcome(record: Record | None, error: str | None = None) -> dict[str, Any]:
    """Return the summary of a run: its ``status`` and results.

    A finished run has its ``horizon``, if any, and each metric at the last test length (``last_mse``, ...); a diverged
    one has ``diverged_at``, a failed one ``error``.
    """
    if record is None:
        return {"status": "failed", "error": str(error)}
    if record.diverged_at is not None:
        return {"status": record.status, "diverged_at": record.diverged_at}
    last = {f"last_{name}": float(record.metrics[name].iloc[-1]) for name in record.metrics if name != "length"}
    return {"status": record.status, **horizon_of(record), **last}


def tests(record: Record | None) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield each test length, and the metrics there by tag."""
    if record is not None:
        for row in record.metrics.to_dict("records"):
            yield int(row["length"]), {f"test/{name}": value for name, value in row.items() if name != "length"}


def check_local(folder: str) -> str:
    """Return the folder that a tracker writes to. Raises InputError for an address."""
    if "://" in folder:
        raise InputError(f"tracker.folder={folder}: must be a folder of this machine; name one")
    return folder
