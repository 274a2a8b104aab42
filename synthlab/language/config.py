"""The config of a run on a language."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveFloat

from synthlab.alignment.windows import extra_range, min_context
from synthlab.config.base import Config, Count, Length, Member, Protocol, Seed, Settings, drop_followers

Fraction = Annotated[float, Field(ge=0, le=1)]
# Fields that later versions added; each default equals the behaviour of earlier versions.
LATER = {"positions": "contiguous", "pattern": "full", "lora": "none"}


class RegularizerSettings(Settings):
    """The settings of the regularizer; ``conf/family/language.yaml`` describes each field."""

    alpha: Annotated[float, Field(ge=0)]
    windows: Literal[1, 2]
    distance: Literal["sce", "excess"]
    low: Fraction
    high: Fraction
    context: Fraction


class Finetune(Settings):
    """The settings of a second training under the extension; ``conf/family/language.yaml`` describes each field."""

    steps: Annotated[int, Field(ge=0)]
    lr: PositiveFloat
    length: Annotated[int, Field(ge=2, le=20_000)] | None


class Evaluation(Settings):
    """The settings of evaluation; ``conf/family/language.yaml`` describes each field."""

    sequences: Count
    questions: Count
    depths: Annotated[list[Fraction], Field(min_length=1)]
    lengths: Annotated[list[PositiveFloat], Field(min_length=1)]


class LanguageConfig(Config):
    """A language model, trained on windows of ``train_length`` tokens and tested on contexts up to ``test_length``."""

    # 3: both windows of a text share one draw of positions, calibrated losses; 4: the kind is part of the config; 5:
    # fused attention
    results_version = 5
    family_module, measures_module = "synthlab.language.family", "synthlab.language.measures"
    fuses, default_task, answer = True, "text", "the next token"
    kind: Literal["language"] = "language"  # pyright: ignore[reportIncompatibleVariableOverride]  # see RunConfig
    task: Member
    encoding: Member
    extension: Member | None
    positions: Member | None = None
    pattern: Member | None = None
    lora: Member | None = None
    model: Member
    protocol: Protocol
    alignment: RegularizerSettings
    finetune: Finetune
    train_length: Annotated[int, Field(ge=2, le=20_000)]
    test_length: Length
    seed: Seed
    weight_seed: Seed
    data_seed: Seed
    test_seed: Seed
    evaluation: Evaluation

    @classmethod
    def rename_fields(cls, raw: dict[str, Any]) -> dict[str, Any]:
        if "language" not in raw:
            return raw
        evaluation = dict(raw["evaluation"])
        test_seed = evaluation.pop("seed", None)
        return (
            {"task": raw["language"], "test_seed": test_seed}
            | {key: value for key, value in raw.items() if key != "language"}
            | {"evaluation": evaluation}
        )

    @property
    def identifying(self) -> dict[str, Any]:
        named = {"language" if key == "task" else key: value for key, value in self.model_dump().items()}
        evaluation = {**named["evaluation"], "seed": named.pop("test_seed")}
        return drop_followers(named | {"evaluation": evaluation})

    @property
    def shape(self) -> str:
        # Texts and costs must be equal; alpha and the offsets may differ between models.
        protocol = self.protocol.model_dump(exclude={"name", "lr"})
        later = [getattr(self, field) for field in LATER]
        parts = [self.task, self.model, self.encoding, self.extension, protocol, self.finetune.model_dump(), *later]
        return json.dumps([*parts, self.alignment.windows, self.train_length], sort_keys=True)

    @property
    def steps(self) -> int:
        return self.protocol.steps + self.finetune.steps

    @property
    def checkpoints(self) -> range:
        """The points of the training curve at which an observer sees the tested model.

        Under an extension these are points of the second training only: the first belongs to another model, with
        another encoding, which runs share. Steps count from the beginning of the first.
        """
        if self.extension is None:
            return super().checkpoints
        return range(self.protocol.steps + self.protocol.record_every, self.steps, self.protocol.record_every)

    @property
    def pretraining(self) -> str:
        """A key of the first training of a run with an extension: all settings that affect it."""
        later = {"extension", "finetune", "evaluation", "test_length", "test_seed"}
        if self.finetune.steps or self.alignment.windows == 1:
            later.add("alignment")
        if self.finetune.steps:
            later |= LATER.keys()
        return json.dumps(self.model_dump(exclude=later), sort_keys=True)

    @property
    def finetuned(self) -> Protocol:
        """The training settings of the second training."""
        return self.protocol.model_copy(update={"steps": self.finetune.steps, "lr": self.finetune.lr})

    def offsets(self, length: int) -> tuple[int, int]:
        """Return the minimal and maximal l_extra of windows of ``length`` tokens."""
        return extra_range(length, self.alignment.low, self.alignment.high)

    def context(self, length: int) -> int:
        """Return the minimal context, in tokens, of both windows where they are compared."""
        return min_context(length, self.alignment.context)
