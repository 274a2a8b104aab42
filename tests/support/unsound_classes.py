"""Classes of a user that are not what they should be."""

from synthlab.models.encodings.base import Encoding
from synthlab.regression.outrep import REALS, Identity, OutRep
from synthlab.regression.tasks import Length
from synthlab.sweeps.trackers.base import Tracker


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

    def begin(self, config):
        raise NotImplementedError
