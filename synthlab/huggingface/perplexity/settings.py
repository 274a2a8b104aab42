"""The settings of an evaluation; ``conf/evaluate/evaluate.yaml`` describes each."""

import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from synthlab.errors import InputError
from synthlab.runs.registry import STRICT, validate

Measure = Literal["disjoint", "strided", "sliding", "last", "misalignment"]
LARGEST = 2**40  # bound of any number: more tokens than there are texts
Length = Annotated[int, Field(ge=2, le=LARGEST)]
Count = Annotated[int, Field(ge=1, le=LARGEST)]


class Settings(BaseModel):
    """The settings of an evaluation. Raises InputError, with a line for each problem."""

    model_config = STRICT
    model: str
    tokenizer: str | None = None
    runs: str = "results"
    texts: str | None = None
    key: str = "text"
    documents: Count | None = None
    tokens: Count | None = None
    bos: Literal["none", "document", "window"] | None = None
    lengths: Annotated[list[Length], Field(min_length=1)]
    measures: Annotated[list[Measure], Field(min_length=1)]
    stride: Count | None = None
    seed: Annotated[int, Field(ge=0, le=LARGEST)] = 0
    batch: Count = 4096
    device: str = "auto"
    dtype: Literal["float32", "float64", "bfloat16", "float16"] = "float32"
    results: str = "results"
    tasks: list[str] = Field(default_factory=list)
    task_data: str | None = None
    task_limit: Count | None = None

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> "Settings":
        """Return the checked settings of a config. A number can be the name of a folder, as a shell passes it."""
        names = {key: str(raw[key]) for key in ("model", "tokenizer", "texts") if isinstance(raw.get(key), int | float)}
        settings = validate(cls, {**raw, **names}, "")
        shortest, longest = min(settings.lengths), max(settings.lengths)
        problems = []
        if not settings.texts and not settings.tasks:
            problems.append("texts=null: must be a file or a folder of texts, unless tasks are given")
        if settings.stride is not None and "strided" in settings.measures and settings.stride >= shortest:
            problems.append(f"stride={settings.stride}: must be less than the shortest of lengths, {shortest}")
        if settings.tokens is not None and settings.tokens < longest:
            problems.append(f"tokens={settings.tokens}: must be at least the longest of lengths, {longest}")
        if "\0" in settings.model or not settings.model.strip():
            problems.append(f"model={settings.model!r}: must be a folder, a name on the hub, or a run of the lab")
        if problems:
            raise InputError(*problems)
        return settings

    @property
    def folder(self) -> str:
        """The folder that evaluations write to."""
        return os.path.join(self.results, "evaluate")
