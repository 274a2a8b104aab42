"""The config of a run on a number task, and the measures of such runs."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast

from pydantic import PositiveFloat, field_validator

from synthlab.metrics import Measures, Metric, reach
from synthlab.runs.run import Count, Curriculum, Member, Run, Settings, Steps

if TYPE_CHECKING:
    from synthlab.storage.records import Record
    from synthlab.training.family import Family

METRICS = {
    "mse": Metric("mean squared error, original scale", "lower", "log", ".3g"),
    "mse_rep": Metric("mean squared error in representation space", "lower", "log"),
    "relative_error": Metric("mean absolute error / mean absolute target", "lower", "log", ".2%"),
    "bias": Metric("mean of prediction - target, original scale", None, "log", ".3g"),
    "clipped": Metric(
        "fraction of outputs that were clipped: they decode to no answer up to evaluation.largest",
        "lower",
        "linear",
        ".1%",
    ),
}


def horizon(relative_error: Sequence[float], threshold: float = 0.05) -> int:
    """Return the largest length up to which the relative error stays under ``threshold``; 0 if it never does."""
    return reach(range(1, len(relative_error) + 1), (error < threshold for error in relative_error))


def describe_map(record: "Record") -> str | None:
    """Return what a run has learned of its map, or the map that it has chosen; None for a fixed map."""
    learned = record.training.drop(columns=["step", "loss"])
    if len(learned.columns):
        last = learned.iloc[-1]
        return f"learned map: {', '.join(f'{name} {value:.3g}' for name, value in last.items())}"
    if record.outputs is not None and cast("NumbersRun", record.config).outrep["name"] == "chosen":
        scores = record.outputs.iloc[0]
        return f"chosen map: {scores.idxmin()} (relative error at held-out lengths: {scores.min():.2%})"
    return None


class StopSettings(Settings):
    """The settings of early stopping; ``conf/family/numbers.yaml`` describes each field."""

    loss: PositiveFloat | None
    every: Steps
    sequences: Count

    @property
    def level(self) -> float | None:
        """The level at which training stops; None without early stopping."""
        return self.loss


class Evaluation(Settings):
    """The settings of evaluation; ``conf/family/numbers.yaml`` describes each field."""

    sequences: Count
    largest: PositiveFloat


class NumbersRun(Run):
    """A run on a number task: its target is a number."""

    # 2: ensembles of models; 3: the kind is part of the config; 4: test sequences follow the seed
    results_version = 4
    default_task, answer = "mean", "a number"
    MEASURES = Measures(
        METRICS,
        primary="mse",
        ranking=("relative_error", "mse"),
        criterion="relative error stays under 5 %",
        horizon=lambda config, metrics: horizon(metrics["relative_error"].to_numpy()),
        chance=lambda config, metrics: config.load_family().find_chance(config, metrics),
        remark=describe_map,
    )
    ORDER = (
        *("family", "task", "inputs", "encoding", "outrep", "model", "protocol"),
        *("train_length", "length_distribution", "curriculum", "stop", "test_length"),
    )
    # Configs are immutable, so a narrower type is safe here; pydantic does not declare that to type checkers.
    family: Literal["numbers"] = "numbers"  # pyright: ignore[reportIncompatibleVariableOverride]
    inputs: Member
    outrep: Member
    length_distribution: Literal["uniform", "proportional", "longest"]
    curriculum: Curriculum | None = None
    stop: StopSettings | None = None
    evaluation: Evaluation

    @field_validator("curriculum", "stop")
    @classmethod
    def _drop_idle(cls, value: Curriculum | StopSettings | None) -> Curriculum | StopSettings | None:
        is_idle = value is None or (value.start if isinstance(value, Curriculum) else value.loss) is None
        return None if is_idle else value

    @classmethod
    def load_family(cls) -> "Family":
        from synthlab.numbers.family import NUMBERS

        return NUMBERS

    @property
    def shape(self) -> str:
        from synthlab.numbers.outrep import OUTREPS, OutRepModule  # these need torch

        protocol = self.protocol.model_dump(exclude={"name", "lr"})
        how = [None if each is None else each.model_dump() for each in (self.curriculum, self.stop)]
        parts = [self.model, self.encoding, protocol, self.train_length, *how]
        if issubclass(OUTREPS.find(self.outrep["name"]), OutRepModule):  # one such map serves the whole ensemble
            parts.append(self.outrep)
        return json.dumps(parts, sort_keys=True)
