"""Runs followed in TensorBoard."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from synthlab.config.base import Config
from synthlab.config.registry import show
from synthlab.errors import require
from synthlab.storage.records import flatten
from synthlab.sweeps.trackers.base import Track, Tracker, check_local, outcome, tests


class TensorBoard(Tracker):
    """TensorBoard: scalars ``train/loss``, ``test/mse`` and the other metrics with the length as step.

    The summary of a run is below ``summary/``; settings are hyperparameters; the status is text.

    A run that begins again replaces its first attempt; a TensorBoard that has read the first must be restarted.
    """

    def __init__(self, folder: str):
        require("tensorboard", "tensorboard", what="tracker=tensorboard")
        self.folder = check_local(folder)

    def begin(self, config):
        folder = Path(self.folder, config.id).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        for older in folder.glob("events.out.tfevents.*"):
            older.unlink()
        return _TensorBoardTrack(folder / f"events.out.tfevents.{time.time():.6f}", config, self.tag)


class _TensorBoardTrack(Track):
    """An event file, without a SummaryWriter, whose thread (one a run) prints a traceback if the disk is full."""

    def __init__(self, path: Path, config: Config, tag: str | None):
        from torch.utils.tensorboard.summary import hparams

        settings = flatten(config.model_dump()) | ({"tag": tag} if tag else {})
        plain = {key: value if isinstance(value, int | float) else show(value) for key, value in settings.items()}
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
            *(_scalars(values, length) for length, values in tests(record)),
            _scalars({f"summary/{name}": value for name, value in ended.items()}, 0),
            *({"summary": text(name, word)} for name, word in words.items()),
            *([{"summary": self.success}] if words["status"] == "finished" else []),
        )

    def _write(self, *events: dict[str, Any]) -> None:
        from tensorboard.compat.proto.event_pb2 import Event  # pyright: ignore[reportMissingImports] - an extra
        from tensorboard.summary.writer.record_writer import RecordWriter  # pyright: ignore[reportMissingImports] - an extra

        with open(self.path, "ab") as file:  # opened each time: an interrupted run leaves nothing open
            for event in events:
                RecordWriter(file).write(Event(wall_time=time.time(), **event).SerializeToString())


def _scalars(values: Mapping[str, float | int], step: int) -> dict[str, Any]:
    from tensorboard.compat.proto.summary_pb2 import Summary  # pyright: ignore[reportMissingImports] - an extra

    return {"step": step, "summary": Summary(value=[Summary.Value(tag=k, simple_value=v) for k, v in values.items()])}
