"""Classes of the user's own that fail: the exception is hers, and a note names the setting of the class."""

import pytest

from support.configs import QUICK, composed
from synthlab.config.base import resolve
from synthlab.config.composition import to_overrides
from synthlab.errors import format_error
from synthlab.models.encodings.base import Encoding
from synthlab.regression.outrep.fixed import Identity
from synthlab.regression.tasks import Length
from synthlab.training.execution import execute


class NoSpan(Length):
    def span(self, length):
        raise KeyError("no\nspan")


class Unmade(Length):
    def __init__(self):
        raise ConnectionError("no network")


class TextShift(Identity):
    def default_shift(self, smallest):
        return "x"


class Careless(Encoding):
    def bias(self, query, key):
        return self.slope * (query - key)


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        (f"task={__name__}:NoSpan", "KeyError: 'no\\nspan'"),
        (f"task={__name__}:Unmade", "ConnectionError: no network"),
        (f"outrep={__name__}:TextShift", "ValueError: could not convert string to float: 'x'"),
        (f"encoding={__name__}:Careless", "AttributeError: 'Careless' object has no attribute 'slope'"),
    ],
)
def test_a_class_that_fails_raises_its_own_error_with_a_note_of_the_setting(setting, line):
    raw = composed(*to_overrides(QUICK), setting)
    with pytest.raises((KeyError, ConnectionError, ValueError, AttributeError)) as raised:
        execute(resolve(raw))
    assert raised.value.__notes__ == [setting]
    assert format_error(raised.value).startswith(f"{setting}: {line}")
