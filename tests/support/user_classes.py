"""Classes as users bring them: sound ones, and some that fail, end the program, or kill their process."""

import os
import signal
from pathlib import Path

import torch

from synthlab.language.languages import LANGUAGES
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.layers import ensemble_parameter
from synthlab.regression.construction import TRIED
from synthlab.regression.tasks import TASKS, Length, Task
from synthlab.sweeps.trackers.base import Track, Tracker


class Broken(Task):
    """A user's own task that fails as long as the file named in the environment is there."""

    def span(self, length):
        return TASKS["length"]().span(length)

    def targets(self, x):
        if len(x) > TRIED and os.path.exists(os.environ["BROKEN"]):
            raise ZeroDivisionError("over\n  and under")
        return TASKS["length"]().targets(x)


class Process(LANGUAGES["recall"]):
    """A user's own language."""


class Log(Tracker):
    """A line in a file for each run that begins to train."""

    def __init__(self, path: str):
        self.path = path

    def begin(self, config):
        with open(self.path, "a") as file:
            file.write(f"{config.id}\n")
        return Quiet()


class Quiet(Track):
    def point(self, step, loss):
        pass

    def end(self, record, error=None):
        pass


class Backwards(Encoding):
    """A user's own encoding, named in the config by its path."""

    def __init__(self, dims: Dims, /, strength: float = 1.0):
        super().__init__()
        self.strength = strength

    def bias(self, query, key):
        return (self.strength * (query - key)).unsqueeze(-3)


class Half(Task):
    def targets(self, x):
        return x / 2


class Stubborn(Encoding):
    """A user's own encoding that knows of one model only."""

    def __init__(self, dims: Dims, /):
        super().__init__()
        self.vector = torch.nn.Parameter(torch.zeros(dims.width))


class Idle(Encoding):
    """A user's own encoding with a parameter that is frozen and one that nothing depends on."""

    def __init__(self, dims: Dims, /):
        super().__init__()
        self.unused = ensemble_parameter(dims.models, 3)
        self.frozen = torch.nn.Parameter(torch.zeros(dims.models, dims.width), requires_grad=False)

    def initialise(self, generators):
        torch.nn.init.ones_(self.unused)

    def embed(self, h, positions):
        return h + self.frozen[:, None, None]


class DoubleLength(Length):
    """A user's own task in double precision."""

    def targets(self, x):
        return super().targets(x).double()


class Deadly(Task):
    """A task that kills whoever trains it, unless that is the sweep's own process: ``python -m synthlab``, or the one
    named in the environment."""

    def span(self, length):
        return TASKS["length"]().span(length)

    def targets(self, x):
        own = b"\0-m\0synthlab\0" in Path("/proc/self/cmdline").read_bytes()
        if len(x) > TRIED and not own and os.environ.get("SPARED") != str(os.getpid()):
            os.kill(os.getpid(), signal.SIGKILL)
        return TASKS["length"]().targets(x)
