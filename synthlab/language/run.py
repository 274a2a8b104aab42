"""The config of a run on a language, and the measures of such runs."""

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PositiveFloat

from synthlab.longshort.windows import extra_range, min_context
from synthlab.metrics import Measures, Metric, reach
from synthlab.runs.run import Count, Member, Protocol, Run, Settings

if TYPE_CHECKING:
    import pandas as pd

    from synthlab.training.family import Family

Fraction = Annotated[float, Field(ge=0, le=1)]
# Groups with a member that changes nothing: a run with that member is the one without the group.
NEUTRAL_MEMBERS = {"positions": "contiguous", "pattern": "full", "lora": "none"}


# The last two are recorded for languages whose distribution is known.
METRICS = {
    "loss": Metric("cross-entropy of the next token, nats", "lower", "linear", ".3f"),
    "calibrated": Metric("the same at the temperature fitted within the training length, nats", "lower"),
    "accuracy": Metric("top-1 accuracy of the next token", "higher", "linear", ".1%"),
    "perfect": Metric("cross-entropy of the Bayes-optimal predictor, nats", "lower"),
    "excess": Metric("KL divergence of the model from the Bayes-optimal predictor, nats", "lower", "log", ".3g"),
}
MARGIN = 0.1  # nats: a factor of 1.1 in perplexity
WINDOW = 4  # losses are averaged over 1 / WINDOW of the training length: at one position they are too noisy


def horizon(config: "LanguageRun", metrics: "pd.DataFrame") -> int:
    """Return the greatest context length up to which the loss exceeds that at ``train_length`` by at most ``MARGIN``.

    Lengths count from ``train_length`` on. The horizon is 0 if the loss there is no better than a uniform guess.

    Losses are means over the last quarter of ``train_length`` tokens.
    """
    lengths = metrics["length"].to_numpy()
    window = max(1, min(config.train_length // WINDOW, len(lengths)))
    losses = metrics["loss"].rolling(window).mean().to_numpy()
    trained = lengths >= min(config.train_length, lengths[-1])
    lengths, losses = lengths[trained], losses[trained]
    guess = config.load_family().find_chance(config, metrics)
    return reach(lengths, losses <= min(losses[0] + MARGIN, math.inf if guess is None else guess[0]))


class RegularizerSettings(Settings):
    """The settings of the regularizer; ``conf/family/language.yaml`` describes each field."""

    alpha: Annotated[float, Field(ge=0)]
    windows: Literal[1, 2]
    distance: Literal["sce", "excess", "entropy"]
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
    window: Annotated[int, Field(ge=2, le=20_000)] | None = None


class LanguageRun(Run):
    """A language model, trained on windows of ``train_length`` tokens and tested on contexts up to ``test_length``."""

    # 3: both windows of a text share one draw of positions, calibrated losses; 4: the kind is part of the config; 5:
    # fused attention
    results_version = 5
    MEASURES = Measures(
        METRICS,
        primary="loss",
        ranking=("loss",),
        criterion=f"loss stays below chance and within {MARGIN} nats of that at train_length",
        horizon=horizon,
        chance=lambda config, metrics: config.load_family().find_chance(config, metrics),
    )
    ORDER = (
        *("family", "task", "test_task", "encoding", "extension", "positions", "pattern", "lora", "model"),
        *("protocol", "alignment", "finetune"),
    )
    FORMER_TASK_KEY = "language"
    has_fused_attention, default_task, answer = True, "text", "the next token"
    family: Literal["language"] = "language"  # pyright: ignore[reportIncompatibleVariableOverride]  # see NumbersRun
    test_task: Mapping[str, Any] = {}
    extension: Member | None
    positions: Member | None = None
    pattern: Member | None = None
    lora: Member | None = None
    alignment: RegularizerSettings
    finetune: Finetune
    train_length: Annotated[int, Field(ge=2, le=20_000)]
    evaluation: Evaluation

    @classmethod
    def load_family(cls) -> "Family":
        from synthlab.language.family import LANGUAGE

        return LANGUAGE

    @property
    def identifying(self) -> dict[str, Any]:
        named = {key: value for key, value in super().identifying.items() if key != "test_seed"}
        return named | {"evaluation": {**named["evaluation"], "seed": self.test_seed}}

    @property
    def shape(self) -> str:
        # Texts and costs must be equal; alpha and the offsets may differ between models.
        protocol = self.protocol.model_dump(exclude={"name", "lr"})
        later = [getattr(self, field) for field in NEUTRAL_MEMBERS]
        parts = [self.task, self.model, self.encoding, self.extension, protocol, self.finetune.model_dump(), *later]
        return json.dumps([*parts, self.alignment.windows, self.train_length], sort_keys=True)

    @property
    def tested_task(self) -> Member:
        """The language of tests: that of training with the keys of ``test_task``."""
        return {**self.task, **self.test_task}

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
        later = {"extension", "finetune", "evaluation", "test_task", "test_length", "test_seed"}
        if self.finetune.steps or self.alignment.windows == 1:
            later.add("alignment")
        if self.finetune.steps:
            later |= NEUTRAL_MEMBERS.keys()
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
