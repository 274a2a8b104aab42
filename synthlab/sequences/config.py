"""The config of a run on a sequence task."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from synthlab.config.base import (
    Config,
    Count,
    Curriculum,
    Length,
    Member,
    Protocol,
    Seed,
    Settings,
    Share,
    Steps,
    drop_followers,
)

Bin = Annotated[list[Length], Field(min_length=2, max_length=2)]


class StopSettings(Settings):
    """The settings of early stopping; ``conf/family/sequences.yaml`` describes each field."""

    exact: Share | None
    every: Steps
    sequences: Count


class Evaluation(Settings):
    """The settings of evaluation; ``conf/family/sequences.yaml`` describes each field."""

    sequences: Count
    horizon: Share


class SequencesConfig(Config):
    """A model of a sequence task, trained on lengths ``train_from`` to ``train_length``.

    It is tested on lengths up to ``test_length``. ``resolve`` replaces ``train_from`` and ``bins`` of null.
    """

    results_version = 5  # 5: accuracy per token weights all tokens of a length equally
    family_module, measures_module = "synthlab.sequences.family", "synthlab.sequences.measures"
    fuses, default_task, answer = True, "majority", "a sequence"
    kind: Literal["sequences"] = "sequences"  # pyright: ignore[reportIncompatibleVariableOverride]  # see RunConfig
    task: Member
    encoding: Member
    positions: Member
    model: Member
    protocol: Protocol
    train_from: Length | None
    train_length: Length
    test_length: Length
    bins: list[Bin] | None
    curriculum: Curriculum
    stop: StopSettings
    seed: Seed
    weight_seed: Seed
    data_seed: Seed
    test_seed: Seed
    evaluation: Evaluation

    @classmethod
    def rename_fields(cls, raw: dict[str, Any]) -> dict[str, Any]:
        return {"task" if key == "problem" else key: value for key, value in raw.items()}

    @property
    def identifying(self) -> dict[str, Any]:
        named = {"problem" if key == "task" else key: value for key, value in self.model_dump().items()}
        return drop_followers(named)

    @property
    def shape(self) -> str:
        protocol = self.protocol.model_dump(exclude={"name", "lr"})
        parts = [self.task, self.model, self.encoding, self.positions, protocol, self.train_from, self.train_length]
        how = [self.curriculum.model_dump(), self.stop.model_dump()]
        return json.dumps([*parts, *how], sort_keys=True)
