"""A class of the user's that fails raises its own exception, with a note that names the setting of the class."""

import pytest

from support.configs import QUICK, composed
from synthlab.errors import format_error
from synthlab.models.encodings.base import Encoding
from synthlab.numbers.tasks import Length
from synthlab.runs.composition import to_overrides
from synthlab.runs.run import resolve
from synthlab.training.execution import execute


class NoSpan(Length):
    def span(self, length):
        raise KeyError("no\nspan")


class Careless(Encoding):
    def bias(self, query, key):
        return self.slope * (query - key)


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        (f"task={__name__}:NoSpan", "KeyError: 'no\\nspan'"),
        (f"encoding={__name__}:Careless", "AttributeError: 'Careless' object has no attribute 'slope'"),
    ],
)
def test_the_setting_of_a_class_that_fails_is_noted(setting, line):
    raw = composed(*to_overrides(QUICK), setting)
    with pytest.raises((KeyError, AttributeError)) as raised:
        execute(resolve(raw))
    assert raised.value.__notes__ == [setting]
    assert format_error(raised.value).startswith(f"{setting}: {line}")
