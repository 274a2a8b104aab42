"""A checked description of one language model: everything that decides its numbers."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, PositiveFloat

from language.languages import LANGUAGES
from language.model import MODELS
from language.windows import both_contexts, extra_range, least_context
from synthlab.config import Config, Count, Length, Member, Protocol, Seed
from synthlab.encodings import ENCODINGS, Dims
from synthlab.errors import InputError
from synthlab.registry import STRICT

Share = Annotated[float, Field(ge=0, le=1)]


class Alignment(BaseModel):
    """How the regularizer is applied; each field is described in ``conf/language.yaml``."""

    model_config = STRICT
    alpha: Annotated[float, Field(ge=0)]
    windows: Literal[1, 2]
    low: Share
    high: Share
    context: Share


class Finetune(BaseModel):
    """A second training under the extension; each field is described in ``conf/language.yaml``."""

    model_config = STRICT
    steps: Annotated[int, Field(ge=0)]
    lr: PositiveFloat
    length: Length | None


class Evaluation(BaseModel):
    """How a language model is tested; each field is described in ``conf/language.yaml``."""

    model_config = STRICT
    sequences: Count
    questions: Count
    seed: Seed
    depths: Annotated[list[Share], Field(min_length=1)]
    lengths: Annotated[list[PositiveFloat], Field(min_length=1)]


class LanguageConfig(Config):
    """A language model, trained on windows of ``train_length`` tokens and tested on contexts up to ``test_length``."""

    made_by = "language.runs"
    language: Member
    encoding: Member
    extension: Member | None
    model: Member
    protocol: Protocol
    alignment: Alignment
    finetune: Finetune
    train_length: Annotated[int, Field(ge=2, le=20_000)]
    test_length: Length
    seed: Seed
    evaluation: Evaluation

    @property
    def shape(self) -> str:
        # What is drawn, and what it costs, must be the same; alpha and the offsets may differ from model to model.
        protocol = self.protocol.model_dump(exclude={"name", "lr"})
        parts = [self.language, self.model, self.encoding, self.extension, protocol, self.finetune.model_dump()]
        return json.dumps([*parts, self.alignment.windows, self.train_length], sort_keys=True)

    @property
    def finetuned(self) -> Protocol:
        """How the second training goes."""
        return self.protocol.model_copy(update={"steps": self.finetune.steps, "lr": self.finetune.lr})

    def offsets(self, length: int) -> tuple[int, int]:
        """The least and the greatest l_extra of windows of ``length`` tokens."""
        return extra_range(length, self.alignment.low, self.alignment.high)

    def context(self, length: int) -> int:
        """The tokens that both windows must have seen where they are compared."""
        return least_context(length, self.alignment.context)


def resolve(raw: Mapping[str, Any]) -> LanguageConfig:
    """The language model that ``raw`` describes, complete: whatever the config left open is filled in.

    Raises InputError for anything that could not be trained or tested, before it is tried.
    """
    config = LanguageConfig.checked(raw)
    problems, members = [], {}
    given = {"language": config.language, "encoding": config.encoding, "model": config.model}
    if config.extension is not None and config.extension.get("name") != "none":
        given["extension"] = config.extension
        if config.extension.get("trained", 0) is None:
            given["extension"] = config.extension | {"trained": config.train_length}
    kinds = {"language": LANGUAGES, "encoding": ENCODINGS, "extension": ENCODINGS, "model": MODELS}
    for field, member in given.items():
        try:
            members[field] = kinds[field].complete(member, field)
        except InputError as error:
            problems += error.lines
    if problems:
        raise InputError(*problems)
    language = LANGUAGES.build(members["language"])
    members["language"] = members["language"] | language.completed()
    config = LanguageConfig.checked(config.model_dump() | {"extension": None} | members)
    _check_alignment(config)
    _check_lengths(config)
    return config


def _check_alignment(config: LanguageConfig) -> None:
    alignment = config.alignment
    if alignment.windows == 1:
        if alignment.alpha:
            raise InputError(f"alignment.windows=1: alignment.alpha={alignment.alpha:g} compares two; give 2")
        return
    if alignment.low > alignment.high:
        raise InputError(f"alignment.low={alignment.low:g}: must be at most alignment.high={alignment.high:g}")
    for length in {config.train_length, config.finetune.length or config.train_length}:
        greatest = config.offsets(length)[1]
        try:
            both_contexts(length, greatest, config.context(length))
        except InputError as error:
            raise InputError(
                f"alignment.high={alignment.high:g}: an offset of {greatest} tokens leaves windows of {length} nothing in "
                f"common after {config.context(length)}; lower it, or alignment.context={alignment.context:g}"
            ) from error


def _check_lengths(config: LanguageConfig) -> None:
    """Refuse texts beyond an encoding's positions, and what cannot take another's place."""
    dims = Dims(config.model["width"], config.model["heads"])
    longest = max(config.test_length, config.train_length, config.finetune.length or 0)
    encodings = {"encoding": config.encoding, "extension": config.extension}
    for field, member in encodings.items():
        if member is None:
            continue
        encoding = ENCODINGS.build(member, dims, field=field)
        if encoding.longest() + 2 < longest:
            raise InputError(
                f"test_length={longest}: {field}={member['name']} has {encoding.longest() + 2} positions; give as many"
            )
        if config.extension is not None and any(True for _ in encoding.parameters()):
            raise InputError(f"{field}={member['name']}: has weights of its own; an extension takes the place of rope")
    if config.extension is None and config.finetune.steps:
        raise InputError(
            f"finetune.steps={config.finetune.steps}: there is no second training without an extension; choose one, or "
            f"extension=rope for none"
        )
