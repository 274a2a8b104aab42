"""The lessons of a story: the runs to train, and the text before and after."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from omegaconf import OmegaConf
from pydantic import BaseModel, Field

from synthlab.errors import InputError, format_error
from synthlab.runs.registry import STRICT, show, validate

LENGTHS = Path(__file__).with_name("lengths.yaml")  # the lab's own lessons
Text = Annotated[str, Field(min_length=1)]


class Lesson(BaseModel):
    """One step of the story; ``lengths.yaml`` describes each field."""

    model_config = STRICT
    button: Text
    title: Text
    watch: Text
    seen: Text
    runs: Annotated[list[dict[str, Any]], Field(min_length=1)]
    scale: Literal["log", "linear"] = "log"
    theory: bool = False


class Lessons(BaseModel):
    """All lessons by name, in order."""

    model_config = STRICT
    every: dict[str, Any]
    lessons: Annotated[dict[str, Lesson], Field(min_length=1)]

    @classmethod
    def read(cls, path: str | None) -> "Lessons":
        """Return the lessons of a file; None: the lab's own. The file is data. Raises InputError."""
        try:
            return cls.from_raw(OmegaConf.to_container(OmegaConf.load(path or LENGTHS)))
        except InputError:
            raise
        except Exception as error:  # of the file system, of YAML or of OmegaConf
            raise InputError(f"story={path}: cannot be read ({format_error(error)})") from None

    @classmethod
    def from_raw(cls, raw: Any) -> "Lessons":
        """Return the lessons of a file. Raises InputError, also for settings that could run code."""
        lessons = validate(cls, raw, "" if isinstance(raw, Mapping) else "story")
        _check_settings("every", lessons.every)
        for name, lesson in lessons.lessons.items():
            for run in lesson.runs:
                _check_settings(f"lessons.{name}.runs", run)
        return lessons


def _check_settings(field: str, settings: Mapping[str, Any]) -> None:
    """Raise InputError for a setting of Hydra, or one that names a class: whoever wrote the file would run code."""
    for key, value in settings.items():
        if not re.fullmatch(r"[\w.@]+", key) or key.startswith("hydra"):
            raise InputError(f"{field}: {show(key)}: is no setting of a run")
        if any(":" in text for text in _texts(value)):
            raise InputError(f"{field}: {key}={show(value)}: names a class; lessons take the lab's own names")


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value, and in the mappings and lists in it."""
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


def sort_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in an order in which a group's member comes before the keys inside it."""
    return dict(sorted(settings.items(), key=lambda setting: "." in setting[0]))
