"""Classes of a user that are not what they should be."""

import torch

from synthlab.models.encodings.base import Encoding
from synthlab.regression.outrep import REALS, Identity, OutRep
from synthlab.regression.tasks import Length
from synthlab.sweeps.trackers.base import Tracker


class NoneSpan(Length):
    def span(self, length):
        return None


class TextSpan(Length):
    def span(self, length):
        return "ab"


class OneSpan(Length):
    def span(self, length):
        return (1.0,)


class InfiniteSpan(Length):
    def span(self, length):
        return 1.0, float("inf")


class BackwardSpan(Length):
    def span(self, length):
        return float(length), 1.0


class RaisingSpan(Length):
    def span(self, length):
        raise KeyError("no\nspan")


class FarTargets(Length):
    def targets(self, x):
        return super().targets(x) * 1000


class NaNTargets(Length):
    def targets(self, x):
        return super().targets(x) * float("nan")


class OneTarget(Length):
    def targets(self, x):
        return super().targets(x)[:, -1]


class Undefined(Length):
    def __init__(self, order: "Nowhere" = 3):
        pass


class NoDomain(OutRep):
    def f(self, x):
        return x

    def f_inverse(self, z):
        return z


class TextDomain(Identity):
    domain = "all"


class NoImage(NoDomain):
    domain = REALS


class Unshifted(Identity):
    def __init__(self, shift: float | None):
        pass


class NoShift(Identity):
    def __init__(self):
        super().__init__(0.0)


class TextShift(Identity):
    def default_shift(self, smallest):
        return "x"


class NoneLongest(Encoding):
    def __init__(self, dims, /):
        super().__init__()

    def longest(self):
        return None


class Unmade(Encoding):
    def __init__(self, dims, /):
        pass


class NoEncoding(torch.nn.Module):
    def __init__(self, make_encoding, generators, /):
        super().__init__()


class Offline(Tracker):
    def __init__(self):
        raise ConnectionError("no\nnetwork")

    def begin(self, config):
        raise NotImplementedError


class Leaving(Offline):
    def __init__(self):
        raise SystemExit(3)
