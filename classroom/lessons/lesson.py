"""The lessons of a story of ``conf/story``: the runs to train, and the text before and after."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from synthlab.config.registry import STRICT, validate

Text = Annotated[str, Field(min_length=1)]


class Lesson(BaseModel):
    """One step of the story; ``conf/story/lengths.yaml`` describes each field."""

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
    def from_raw(cls, raw: Mapping[str, Any]) -> "Lessons":
        """Return the lessons of a composed config. Raises InputError."""
        return validate(cls, {key: raw[key] for key in cls.model_fields if key in raw}, "")

    def settings(self, lesson: Lesson) -> list[dict[str, Any]]:
        """Return the settings of the lesson's runs, in order, by dotted key; groups before the keys inside them."""
        return [sort_settings(self.every | run) for run in lesson.runs]


def sort_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in an order in which a group's member comes before the keys inside it."""
    return dict(sorted(settings.items(), key=lambda setting: "." in setting[0]))
