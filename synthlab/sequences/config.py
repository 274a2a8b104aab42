"""The config of a run on a task whose answer is tokens: everything that decides its numbers."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field, PositiveInt

from synthlab.config.base import Config, Count, Length, Member, Protocol, Seed
from synthlab.config.registry import STRICT

if TYPE_CHECKING:
    from synthlab.training.family import Family

Share = Annotated[float, Field(gt=0, le=1)]
Bin = Annotated[list[Length], Field(min_length=2, max_length=2)]


class Curriculum(BaseModel):
    """Training lengths that grow; each field is described in ``conf/sequences_run.yaml``."""

    model_config = STRICT
    start: Length | None
    until: Share


class Stop(BaseModel):
    """When training stops early; each field is described in ``conf/sequences_run.yaml``."""

    model_config = STRICT
    exact: Share | None
    every: PositiveInt
    sequences: Count


class Evaluation(BaseModel):
    """How a model is tested; each field is described in ``conf/sequences_run.yaml``."""

    model_config = STRICT
    sequences: Count
    horizon: Share


class SequencesConfig(Config):
    """A model of a task whose answer is tokens, trained on lengths ``train_from`` to ``train_length`` and tested on
    those to ``test_length``. ``train_from`` and ``bins`` of null are filled in by ``resolved``."""

    results_version = 3
    config_name = folder = "sequences"
    kind: Literal["sequences"] = "sequences"  # pyright: ignore[reportIncompatibleVariableOverride]  # see RunConfig
    problem: Member
    encoding: Member
    positions: Member
    model: Member
    protocol: Protocol
    train_from: Length | None
    train_length: Length
    test_length: Length
    bins: list[Bin] | None
    curriculum: Curriculum
    stop: Stop
    seed: Seed
    evaluation: Evaluation

    @property
    def family(self) -> "Family[SequencesConfig]":
        from synthlab.sequences import family

        return family

    @classmethod
    def resolved(cls, raw: Mapping[str, Any]) -> "SequencesConfig":
        from synthlab.sequences.construction import resolve

        return resolve(raw)

    @property
    def shape(self) -> str:
        protocol = self.protocol.model_dump(exclude={"name", "lr"})
        parts = [self.problem, self.model, self.encoding, self.positions, protocol, self.train_from, self.train_length]
        how = [self.curriculum.model_dump(), self.stop.model_dump()]
        return json.dumps([*parts, *how], sort_keys=True)
