"""Classes of the user's own that are not what they should be: each is refused in one line that names it."""

import re

import pytest

from support.configs import QUICK, composed
from synthlab.config.composition import to_overrides
from synthlab.errors import InputError
from synthlab.models.encodings.base import Encoding
from synthlab.regression.construction import resolve
from synthlab.regression.outrep import OutRep
from synthlab.regression.outrep.base import REALS
from synthlab.regression.outrep.fixed import Identity
from synthlab.regression.tasks import Length
from synthlab.sweeps.trackers import Tracker, tracker_of


class BackwardSpan(Length):
    def span(self, length):
        return float(length), 1.0


class FarTargets(Length):
    def targets(self, x):
        return super().targets(x) * 1000


class Undefined(Length):
    def __init__(self, order: "Nowhere" = 3):
        pass


class NoDomain(OutRep):
    def f(self, x):
        return x

    def f_inverse(self, z):
        return z


class NoImage(NoDomain):
    domain = REALS


class Unshifted(Identity):
    def __init__(self, shift: float | None):
        pass


class TextShift(Identity):
    def default_shift(self, smallest):
        return "x"


class Unmade(Encoding):
    def __init__(self, dims, /):
        pass


class Offline(Tracker):
    def __init__(self):
        raise ConnectionError("no\nnetwork")

    def begin(self, config): ...

    def point(self, step, loss): ...

    def end(self, record, error=None): ...


REFUSED = {
    "task:BackwardSpan": r"span\(10\) is \(10.0, 1.0\); must be two finite numbers, the smaller first",
    "task:FarTargets": r"targets are 1000 to 12000; must lie within span\(12\), 1 to 12",
    "task:Undefined": r"cannot be made \(PydanticUserError: .*\)",
    "outrep:NoDomain": "domain is None; must be a synthlab.regression.outrep.Interval",
    "outrep:NoImage": "image is None; must be a synthlab.regression.outrep.Interval",
    "outrep:Unshifted": "shift is None; must be a number, which OutRep.__init__ sets",
    "outrep:TextShift": r"cannot choose a shift \(ValueError: .*\)",
    "encoding:Unmade": r"cannot be part of a model \(AttributeError: .*\)",
    "tracker:Offline": r"cannot be made \(ConnectionError: no network\)",
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_class_that_is_not_what_it_should_be_is_refused_in_one_line(case):
    field, _, name = case.partition(":")
    raw = composed(*to_overrides(QUICK), f"{field}.name={__name__}:{name}")
    with pytest.raises(InputError) as refused:
        resolve(raw), tracker_of(raw["tracker"])
    assert re.fullmatch(rf"{field}={__name__}:{name}: {REFUSED[case]}", str(refused.value))
