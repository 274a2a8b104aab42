"""The training process of one window: it trains one run at a time, and reports several times a second."""

import shlex
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, cast

from torch import nn

from classroom.messages import (
    Answered,
    Begun,
    Forget,
    Progress,
    Read,
    Ready,
    Refused,
    Request,
    Stop,
    Theorize,
    Theorized,
    Train,
)
from classroom.viewer import Viewer
from synthlab.errors import InputError, format_error
from synthlab.models.encodings.base import encoding_of
from synthlab.numbers.family import build_models, train_models
from synthlab.numbers.run import NumbersRun
from synthlab.runs.composition import Composer, to_overrides
from synthlab.runs.run import resolve
from synthlab.training.devices import use_one_thread
from theory.closed_forms.least import least_error
from theory.closed_forms.optima import optimum

PAUSE = 0.25  # minimal seconds between two views of a model
SHARE = 0.3  # largest fraction of the time for views,
PERIOD = 0.45  # unless they would then be more than these seconds apart
# Sequences x length^2 of a view during training, and of the last one: 30 ms and 1 s.
ENTRIES, LAST_ENTRIES = 128 * 50**2, 512 * 160**2
WARMING = {"task": "length", "protocol.steps": 2, "test_length": 12}


class TrainedRun(NamedTuple):
    """A run, its model, which may still be training, and its viewer."""

    config: NumbersRun
    model: nn.Module
    viewer: Viewer


class Laboratory:
    """Serves the requests of ``connection`` until its other end is closed."""

    def __init__(self, connection: Connection):
        self.connection = connection
        self.trained: dict[int, TrainedRun] = {}

    def serve(self) -> None:
        """Serve until the other end of the connection is closed."""
        with suppress(EOFError, BrokenPipeError, ConnectionResetError), use_one_thread():
            self._warm()
            self.connection.send(Ready())
            while True:
                self._handle(self.connection.recv())

    def _warm(self) -> None:
        """Train a small run in advance, since the first one in a process is slow."""
        config = cast(NumbersRun, resolve(Composer().compose(WARMING)))
        model = build_models([config])
        train_models(model, [config])
        Viewer(config).read(model, "01", 5)
        optimum("length", 2, 2)

    def _handle(self, request: Request) -> None:
        """Answer one request; with Refused if it raises an error."""
        try:
            match request:
                case Train():
                    self._train(request)
                case Read():
                    self._read(request)
                case Theorize():
                    self._theorize(request)
                case Forget():
                    self.trained.clear()
                case Stop():
                    pass  # nothing is training
        except (_Stopped, EOFError, OSError):
            raise
        except InputError as error:
            self._refuse(request, error.lines)
        except Exception as error:  # torch raises many kinds, such as for lack of memory
            self._refuse(request, [format_error(error)[:200]])

    def _refuse(self, request: Any, lines: Sequence[str]) -> None:
        self.connection.send(Refused(request.number, lines, ended=isinstance(request, Train)))

    def _train(self, request: Train) -> None:
        config = cast(NumbersRun, resolve(Composer().compose(request.settings)))
        model, viewer = build_models([config]), Viewer(config)
        self.trained[request.number] = TrainedRun(config, model, viewer)
        command = shlex.join(["synthlab", *to_overrides(request.settings)])
        lengths = (config.train_length, config.test_length)
        self.connection.send(
            Begun(request.number, config.protocol.steps, *lengths, viewer.find_target_ranges(), command)
        )
        watch = _Watch(self, request.number, viewer, model)
        try:
            training = train_models(model, [config], watch)[0]
        except _Stopped:
            self._last_look(watch, "stopped")
            return
        if training.diverged_at is None:
            self._last_look(watch, "finished")
        else:
            del self.trained[request.number]
            self.connection.send(Progress(request.number, "diverged", training.steps, training.losses, None))

    def _last_look(self, watch: "_Watch", state: Any) -> None:
        # After Stop the user waits for this view, so it is a small one.
        sequences = watch.count_affordable(LAST_ENTRIES) if state == "finished" else watch.sequences
        view = watch.viewer.view(watch.model, sequences)
        self.connection.send(Progress(watch.number, state, watch.steps, watch.losses, view))

    def _read(self, request: Read) -> None:
        reading = None
        if request.number in self.trained:  # otherwise it was removed in the meantime
            _, model, viewer = self.trained[request.number]
            reading = viewer.read(model, request.pattern, request.length)
        self.connection.send(Answered(request.number, reading))

    def _theorize(self, request: Theorize) -> None:
        if request.number in self.trained:
            error, reason = least_error(self.trained[request.number].config)
            self.connection.send(Theorized(request.number, error, reason))

    def while_training(self) -> None:
        """Answer the requests that came during training. Raises _Stopped on Stop."""
        while self.connection.poll():
            request = self.connection.recv()
            if isinstance(request, Stop):
                raise _Stopped
            self._handle(request)


class _Stopped(Exception):
    """Raised when training is to stop."""


class _Watch:
    """A callback of each training step, which answers requests and sends views of the model."""

    def __init__(self, laboratory: Laboratory, number: int, viewer: Viewer, model: nn.Module):
        self.laboratory, self.number, self.viewer, self.model = laboratory, number, viewer, model
        self.steps: list[int] = []
        self.losses: list[float] = []
        self.sequences = self.count_affordable(ENTRIES)
        self.due = 0.0

    def count_affordable(self, entries: int) -> int:
        """Return the number of test sequences of a view with about ``entries`` attention entries; at least 16."""
        length = self.viewer.config.test_length
        passes = 1 if encoding_of(self.model).packs else length  # see ``readouts``
        return max(16, entries // (length**2 * passes))

    def __call__(self, step: int, losses: list[float]) -> None:
        self.steps.append(step)
        self.losses.append(losses[0])
        self.laboratory.while_training()
        began = time.monotonic()
        if began < self.due:
            return
        view = self.viewer.view(self.model, self.sequences)
        self.laboratory.connection.send(Progress(self.number, "training", self.steps, self.losses, view))
        took = time.monotonic() - began
        self.due = began + max(took + PAUSE, min(took / SHARE, PERIOD))
