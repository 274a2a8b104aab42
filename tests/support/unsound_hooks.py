"""Classes of a user of which one hook raises, or answers nonsense: which one and with what, their arguments say."""

import math

import torch

from synthlab.language.languages.source import Language
from synthlab.models.encodings.plain import NoPE
from synthlab.models.encodings.rope import RoPE
from synthlab.positions.samplers import Contiguous
from synthlab.regression.tasks import Length
from synthlab.sequences.tasks import PROBLEMS


class Odd(BaseException):
    """What no ``except Exception`` catches."""


RAISED = {"raises": KeyError("no\nkey"), "odd": Odd("x"), "exits": SystemExit(0)}
GIVEN = {"none": None, "text": "x", "nan": math.nan, "minus": -1, "huge": 10**12, "list": [[]]}
KINDS = (*RAISED, *GIVEN)


def _nonsense(kind):
    if kind in RAISED:
        raise RAISED[kind]
    return GIVEN[kind]


def _unsound(base):
    class Unsound(base):
        def __init__(self, broken: str, kind: str):
            self.broken, self.kind = broken, kind

        def __getattribute__(self, name):
            mine = object.__getattribute__(self, "__dict__")
            if name != mine.get("broken"):
                return super().__getattribute__(name)
            member = getattr(type(self), name, None)
            return (lambda *args, **how: _nonsense(mine["kind"])) if callable(member) else _nonsense(mine["kind"])

    return Unsound


UnsoundTask, UnsoundSampler = _unsound(Length), _unsound(Contiguous)


class UnsoundProblem(_unsound(PROBLEMS["reverse"])):
    def __init__(self, broken: str, kind: str):
        super().__init__(symbols=3)
        self.broken, self.kind = broken, kind


class UnsoundEncoding(_unsound(NoPE)):
    def __init__(self, dims, /, broken: str, kind: str):
        super().__init__()
        self.broken, self.kind = broken, kind


class UnsoundExtension(_unsound(RoPE)):
    def __init__(self, dims, /, broken: str, kind: str):
        super().__init__(dims, base=10_000.0)
        self.broken, self.kind = broken, kind


class UnsoundLanguage(_unsound(Language)):
    vocabulary = 4

    def draw(self, batch, length, generator, held_out=False):
        return torch.randint(4, (batch, length), generator=generator)
