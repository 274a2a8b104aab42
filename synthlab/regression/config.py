"""The config of a run on a regression task."""

import json
from typing import Literal

from pydantic import PositiveFloat, field_validator

from synthlab.config.base import Config, Count, Curriculum, Length, Member, Protocol, Seed, Settings, Steps


class StopSettings(Settings):
    """The settings of early stopping; ``conf/family/numbers.yaml`` describes each field."""

    loss: PositiveFloat | None
    every: Steps
    sequences: Count


class Evaluation(Settings):
    """The settings of evaluation; ``conf/family/numbers.yaml`` describes each field."""

    sequences: Count
    largest: PositiveFloat


class RunConfig(Config):
    """A run on a regression task: its target is a number."""

    # 2: ensembles of models; 3: the kind is part of the config; 4: test sequences follow the seed
    results_version = 4
    family_module, measures_module = "synthlab.regression.family", "synthlab.regression.measures"
    default_task, answer = "mean", "a number"
    # Configs are immutable, so a narrower type is safe here; pydantic does not declare that to type checkers.
    kind: Literal["regression"] = "regression"  # pyright: ignore[reportIncompatibleVariableOverride]
    task: Member
    inputs: Member
    encoding: Member
    outrep: Member
    model: Member
    protocol: Protocol
    train_length: Length
    length_distribution: Literal["uniform", "proportional", "longest"]
    curriculum: Curriculum | None = None
    stop: StopSettings | None = None
    test_length: Length
    seed: Seed
    weight_seed: Seed
    data_seed: Seed
    test_seed: Seed
    evaluation: Evaluation

    @field_validator("curriculum")
    @classmethod
    def _drop_idle_curriculum(cls, value: Curriculum | None) -> Curriculum | None:
        return None if value is None or value.start is None else value

    @field_validator("stop")
    @classmethod
    def _drop_idle_stop(cls, value: StopSettings | None) -> StopSettings | None:
        return None if value is None or value.loss is None else value

    @property
    def shape(self) -> str:
        from synthlab.regression.outrep import OUTREPS, OutRepModule  # these need torch

        protocol = self.protocol.model_dump(exclude={"name", "lr"})
        how = [None if each is None else each.model_dump() for each in (self.curriculum, self.stop)]
        parts = [self.model, self.encoding, protocol, self.train_length, *how]
        if issubclass(OUTREPS.find(self.outrep["name"]), OutRepModule):  # one such map serves the whole ensemble
            parts.append(self.outrep)
        return json.dumps(parts, sort_keys=True)
