"""Classes as users bring them: sound ones, and some that fail, end the program, or kill their process."""

import os
import signal
from pathlib import Path

import torch

from synthlab.language.languages.source import LanguageTask
from synthlab.models.encodings import NoPE
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.layers import ensemble_parameter, gather_rows, init_normal
from synthlab.numbers.tasks import Length, NumberTask
from synthlab.positions.samplers import Contiguous
from synthlab.sequences.tasks import TASKS
from synthlab.sweeps.trackers import Tracker

TRIED = 4  # sequences that a task is asked about before training


class Broken(Length):
    """A user's own task that fails as long as the file named in the environment is there."""

    def targets(self, x):
        if len(x) > TRIED and os.path.exists(os.environ["BROKEN"]):
            raise ZeroDivisionError("over\n  and under")
        return super().targets(x)


class Log(Tracker):
    """A line in a file for each run that begins to train."""

    def __init__(self, path: str):
        self.path = path

    def begin(self, config):
        with open(self.path, "a") as file:
            file.write(f"{config.id}\n")

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


class Half(NumberTask):
    def targets(self, x):
        return x / 2


class Mirror(TASKS["reverse"]):
    def __init__(self):
        super().__init__(symbols=3)


class Coins(LanguageTask):
    vocabulary = 4

    def draw(self, batch, length, generator, held_out=False):
        return torch.randint(4, (batch, length), generator=generator)


class Steps(Contiguous):
    pass


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


class Deadly(Length):
    """A task that kills whoever trains it, unless that is the sweep's own process, ``python -m synthlab``."""

    def targets(self, x):
        own = b"\0-m\0synthlab\0" in Path("/proc/self/cmdline").read_bytes()
        if len(x) > TRIED and not own:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().targets(x)


class Bigram(torch.nn.Module):
    """A language model without width or layers: logits of the next token from the last one alone."""

    def __init__(self, make_encoding, generators, vocabulary, /, scale: float):
        super().__init__()
        self.encoding = make_encoding(Dims(4, 1, len(generators)))
        self.table = ensemble_parameter(len(generators), vocabulary, vocabulary)
        init_normal(self.table, scale, generators)

    def forward(self, x, positions=None):
        return gather_rows(self.table, x)


class Bag(torch.nn.Module):
    """A model of every family that uses no encoding: it adds up a vector for each token."""

    def __init__(self, make_encoding, generators, vocabulary=None, /):
        super().__init__()
        self.encoding = NoPE(Dims(1, 1, len(generators)))
        self.table = ensemble_parameter(len(generators), vocabulary or 2, vocabulary or 1)
        init_normal(self.table, 1.0, generators)

    def forward(self, x, positions=None):
        return gather_rows(self.table, x).cumsum(2).squeeze(-1)
