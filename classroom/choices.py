"""The choices on the page: a run, by a few settings; a sequence."""

from collections.abc import Mapping
from functools import reduce
from typing import Any

from pydantic import BaseModel, NonNegativeInt, PositiveInt

from classroom import words
from classroom.lessons import Lesson, Lessons, sort_settings
from synthlab.errors import InputError
from synthlab.runs.composition import Composer
from synthlab.runs.registry import STRICT, describe_unknown

GROUPS = tuple(words.FIRST)
Choice = dict[str, Any]  # a run: a value for each of the page's controls


class Limit(BaseModel):
    """The integers that a control accepts."""

    model_config = STRICT
    low: NonNegativeInt
    high: NonNegativeInt
    multiple: PositiveInt = 1

    @property
    def allowed(self) -> str:
        """The accepted integers, in words."""
        kind = "a whole number" if self.multiple == 1 else f"a multiple of {self.multiple}"
        return f"{kind} from {self.low} to {self.high}"

    def read(self, field: str, text: str) -> int:
        """Return the integer in ``text``. Raises InputError."""
        word = text.strip()
        # Only what a person would type: int() also accepts 1_0 and the digits of other scripts.
        number = int(word) if word.isascii() and word.isdigit() and len(word) < 10 else None
        if number is None or not self.low <= number <= self.high or number % self.multiple:
            raise InputError(f"{field}: {truncate(word)} is not valid; give {self.allowed}")
        return number


class Chooser:
    """A converter of the controls' values, and of the runs of lessons, into runs to train."""

    def __init__(self, lessons: Lessons, limits: Mapping[str, Limit]):
        self.every, self.limits = dict(lessons.every), dict(limits)
        # The initial values of the controls: the lab's defaults, and the settings of every lesson.
        self._plain = Composer().compose({})
        base = Composer().compose(self.every)
        self._protocol = base["protocol"]["name"]
        self.defaults: Choice = {key: _value(base, key) for key in (*GROUPS, *self.limits)}
        self.members = {group: dict(words.choices(group)) for group in GROUPS}
        for key, limit in self.limits.items():
            limit.read(f"limits.{key}: the default", str(self.defaults[key]))
        for name, lesson in lessons.lessons.items():
            for run in lesson.runs:
                self._check(f"lessons.{name}.runs", run)

    def _check(self, field: str, run: Mapping[str, Any]) -> None:
        """Raise InputError for a lesson's run with settings that the controls lack."""
        unmet = [key for key in run if key not in (*self.defaults, "protocol")]
        if unmet:
            raise InputError(f"{field}: {unmet[0]} is not one of the page's controls")
        try:
            choice = self.read({key: str(run.get(key, default)) for key, default in self.defaults.items()})
        except InputError as error:
            raise InputError(*(f"{field}: {line}" for line in error.lines)) from None
        protocol = self.settings(choice).get("protocol", self._plain["protocol"]["name"])
        if run.get("protocol", protocol) != protocol:
            raise InputError(
                f"{field}: protocol={run['protocol']} is not one of the page's controls; it takes {protocol}"
            )

    def read(self, texts: Mapping[str, str]) -> Choice:
        """Return the run that the controls describe. Raises InputError with a line for each invalid value."""
        chosen: Choice = {}
        problems: list[str] = []
        for key in self.defaults:
            try:
                chosen[key] = self._read(key, texts[key])
            except InputError as error:
                problems += error.lines
        if problems:
            raise InputError(*problems)
        return self._normalize(chosen)

    def _normalize(self, choice: Choice) -> Choice:
        """Return the run with settings that have no effect at their defaults.

        Raises InputError for settings that do not fit.
        """
        if choice["model"] != "linear":
            return choice
        if choice["encoding"] != "nope":
            nope = self.members["encoding"]["nope"]
            raise InputError(f"{words.LABELS['encoding']}: linear attention has none; choose {nope}")
        return choice | {key: self.defaults[key] for key in ("model.width", "model.depth")}

    def _read(self, key: str, text: str) -> Any:
        if key in self.limits:
            return self.limits[key].read(words.LABELS[key], text)
        if text not in self.members[key]:
            raise InputError(describe_unknown(words.LABELS[key], truncate(text), self.members[key]))
        return text

    def runs(self, lesson: Lesson) -> list[Choice]:
        """Return the runs of a lesson."""
        chosen = [self.defaults | {key: run[key] for key in run if key in self.defaults} for run in lesson.runs]
        return [self._normalize(choice) for choice in chosen]

    def settings(self, choice: Choice) -> dict[str, Any]:
        """Return the settings with which ``synthlab`` trains this run, without its defaults."""
        linear = choice["model"] == "linear"
        given = dict(choice) | {"protocol": "theory" if linear else self._protocol}
        if linear:
            del given["model.width"], given["model.depth"]
        steps = given.pop("protocol.steps")
        kept = {key: value for key, value in given.items() if value != _value(self._plain, key)}
        return sort_settings(kept | {"protocol.steps": steps})


def read_sequence(text: str, longest: int) -> str:
    """Return the 0s and 1s of ``text``, without spaces. Raises InputError."""
    symbols = "".join(text.split())
    if not symbols:
        raise InputError("sequence: empty; type 0s and 1s, such as 0110")
    if len(symbols) > longest:
        raise InputError(f"sequence: {len(symbols)} symbols; must be at most {longest}")
    if set(symbols) - set("01"):
        raise InputError(f"sequence: {truncate(symbols)} is not valid; type 0s and 1s, such as 0110")
    return symbols


def truncate(text: str, most: int = 24) -> str:
    """Return ``text`` for a message: "empty" if it is, truncated if it is long."""
    if not text:
        return "empty"
    return text if len(text) <= most else f"{text[:most]}…"


def _value(config: Mapping[str, Any], key: str) -> Any:
    """Return a setting of a composed config; for a group, the name of its member."""
    found = reduce(lambda part, name: part[name], key.split("."), config)
    return found["name"] if isinstance(found, Mapping) else found
