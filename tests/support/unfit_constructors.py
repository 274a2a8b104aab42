"""Classes as users first write them: their constructors do not take what the lab gives them, or none is written."""

import math

import torch
from torch import nn

from synthlab import Encoding, InputDistribution, Interval, OutRep, Task, Tracker
from synthlab.language.languages.source import Language
from synthlab.positions.sampler_base import PositionSampler
from synthlab.sequences.answers import AnswerTask


class WithoutDims(Encoding):
    def __init__(self, strength: float = 1.0):
        super().__init__()


class NamedDims(Encoding):
    def __init__(self, dims, strength: float = 1.0):
        super().__init__()


class NoConstructor(Encoding):
    def bias(self, query, key):
        return None


class LSTM(nn.Module):
    def __init__(self, width: int = 8):
        super().__init__()


class Map(OutRep):
    domain = image = Interval(0.0, math.inf)

    def __init__(self, scale: float):
        self.scale = scale

    def f(self, x):
        return x / self.scale

    def f_inverse(self, z):
        return z * self.scale


class Shiftless(Map):
    def __init__(self, scale: float = 1.0):
        super().__init__(scale)


class Number(Task):
    def __init__(self, dims, /):
        pass

    def targets(self, x):
        return x

    def span(self, length):
        return 0.0, 1.0


class Answer(AnswerTask):
    source = "made here"

    def __init__(self, symbols):
        self.symbols = symbols

    def sizes(self, length):
        return length, length

    def draw(self, lengths, generator):
        raise NotImplementedError

    def chance(self, length):
        return 0.0


class Tokens(Language):
    def __init__(self, dims, /):
        pass

    def draw(self, rows, length, generator):
        raise NotImplementedError


class Inputs(InputDistribution):
    def __init__(self, dims, /):
        pass

    def probability(self, batch, generator):
        return torch.rand(batch, 1, generator=generator)


class Sampler(PositionSampler):
    def __init__(self, dims, /):
        pass

    def positions(self, rows, length, generator):
        raise NotImplementedError


class Optimizer(torch.optim.Optimizer):
    def __init__(self, params, momentum: float = 0.9):
        super().__init__(params, {})


class Quiet(Tracker):
    def __init__(self, dims, /):
        pass

    def begin(self, config): ...

    def point(self, step, loss): ...

    def end(self, record, error=None): ...
