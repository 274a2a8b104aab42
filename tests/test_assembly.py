"""Classes of the user's own that are not what they should be: each is refused in one line that names it."""

import re

import pytest
import torch

from synthlab.models.encoding_base import Encoding
from synthlab.regression.outrep import REALS, Identity, OutRep
from synthlab.regression.tasks import Length
from synthlab.sweeps.trackers import Tracker


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


class TensorSpan(Length):
    def span(self, length):
        return torch.tensor([1, length])


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


REFUSED = {
    "task:NoneSpan": r"span\(1\) is None; must be two finite numbers, the smaller first",
    "task:TextSpan": r"span\(1\) is 'ab'; must be two finite numbers, the smaller first",
    "task:OneSpan": r"span\(1\) is \(1.0,\); must be two finite numbers, the smaller first",
    "task:InfiniteSpan": r"span\(1\) is \(1.0, inf\); must be two finite numbers, the smaller first",
    "task:BackwardSpan": r"span\(12\) is \(12.0, 1.0\); must be two finite numbers, the smaller first",
    "task:RaisingSpan": r"cannot say its span\(1\) \(KeyError: 'no\\nspan'\)",
    "task:Undefined": r"cannot be made \(PydanticUserError: .*\)",
    "outrep:NoDomain": "domain is None; must be a synthlab.regression.outrep.Interval",
    "outrep:TextDomain": "domain is 'all'; must be a synthlab.regression.outrep.Interval",
    "outrep:NoImage": "image is None; must be a synthlab.regression.outrep.Interval",
    "outrep:Unshifted": "shift is None; OutRep.__init__ must set it",
    "outrep:TextShift": r"cannot choose a shift \(ValueError: .*\)",
    "encoding:NoneLongest": r"cannot say the longest sequence it can serve \(TypeError: .*\)",
    "encoding:Unmade": r"cannot be part of a model \(AttributeError: .*\)",
    "tracker:Offline": r"cannot be made \(ConnectionError: no network\)",
    "tracker:Leaving": r"cannot be made \(SystemExit: 3\)",
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_class_that_is_not_what_it_should_be_is_refused_in_one_line(invoke, quick, tmp_path, case):
    field, _, name = case.partition(":")
    outcome = invoke("synthlab", *quick, f"{field}.name=test_assembly:{name}")
    assert (outcome.status, outcome.out) == (2, "")
    assert re.fullmatch(rf"error: {field}=test_assembly:{name}: {REFUSED[case]}\n", outcome.err), outcome.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("group", "name", "line"),
    [
        ("model", "NoEncoding", r"cannot say its encoding \(AttributeError: .*\)"),
        ("outrep", "NoShift", "its constructor must take a shift"),
    ],
)
def test_so_is_one_of_a_config_file_of_the_users_own(invoke, quick, tmp_path, group, name, line):
    (tmp_path / "own" / group).mkdir(parents=True)
    (tmp_path / "own" / group / "mine.yaml").write_text(f"name: test_assembly:{name}\n")
    outcome = invoke("synthlab", "--config-dir", str(tmp_path / "own"), *quick, f"{group}=mine")
    assert outcome.status == 2
    assert re.fullmatch(rf"error: {group}=test_assembly:{name}: {line}\n", outcome.err), outcome.err


def test_a_span_of_whole_numbers_in_a_tensor_will_do(invoke, quick):
    outcome = invoke("synthlab", *quick, "task.name=test_assembly:TensorSpan")
    assert (outcome.status, outcome.err) == (0, "")
