"""The config of a run on a sequence task, and the measures of such runs."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from synthlab.metrics import Measures, Metric, reach
from synthlab.runs.run import (
    Count,
    Curriculum,
    Length,
    Member,
    Run,
    Settings,
    Share,
    Steps,
)

if TYPE_CHECKING:
    import pandas as pd

    from synthlab.training.family import Family

METRICS = {
    "exact": Metric("share of sequences whose answer is right in every token", "higher", "linear", ".1%"),
    "exact_low": Metric("lower end of its 95 % interval (Wilson)", "higher"),
    "exact_high": Metric("upper end of its 95 % interval", "higher"),
    "tokens": Metric("share of the answers' tokens that are right", "higher", "linear", ".1%"),
    "tokens_low": Metric("lower end of its 95 % interval", "higher"),
    "tokens_high": Metric("upper end of its 95 % interval", "higher"),
    "loss": Metric("mean loss of answer tokens, nats", "lower", "log", ".3g"),
    "chance": Metric("exact match of the best answer that looks at no prompt"),
    "shift": Metric("total variation between the mean output here and at the longest quarter of training lengths"),
    "target_shift": Metric("the same of the right answers"),
}


def horizon_of(config: "SequencesRun", metrics: "pd.DataFrame") -> int:
    """Return the greatest length up to which, from ``train_from`` on, exact match is high enough.

    The threshold is ``evaluation.horizon``.
    """
    asked = metrics[metrics["length"] >= (config.train_from or 1)]  # shorter lengths are tested too
    return reach(asked["length"], asked["exact"] >= config.evaluation.horizon)


Bin = Annotated[list[Length], Field(min_length=2, max_length=2)]


class StopSettings(Settings):
    """The settings of early stopping; ``conf/family/sequences.yaml`` describes each field."""

    exact: Share | None
    every: Steps
    sequences: Count

    @property
    def level(self) -> float | None:
        """The level at which training stops; None without early stopping."""
        return self.exact


class Evaluation(Settings):
    """The settings of evaluation; ``conf/family/sequences.yaml`` describes each field."""

    sequences: Count
    horizon: Share


class SequencesRun(Run):
    """A model of a sequence task, trained on lengths ``train_from`` to ``train_length``.

    It is tested on lengths up to ``test_length``. ``resolve`` replaces ``train_from`` and ``bins`` of null.
    """

    results_version = 5  # 5: accuracy per token weights all tokens of a length equally
    MEASURES = Measures(
        METRICS,
        primary="exact",
        ranking=("exact", "tokens"),
        criterion="exact match stays at evaluation.horizon or above",
        horizon=horizon_of,
        chance=lambda config, metrics: metrics["chance"].tolist(),
    )
    ORDER = (
        *("family", "task", "test_task", "encoding", "positions", "model", "protocol"),
        *("train_from", "train_length", "test_length", "bins", "curriculum", "stop"),
    )
    FORMER_TASK_KEY = "problem"
    has_fused_attention, default_task, answer = True, "majority", "a sequence"
    family: Literal["sequences"] = "sequences"  # pyright: ignore[reportIncompatibleVariableOverride]  # see NumbersRun
    test_task: Mapping[str, Any] = {}
    positions: Member
    train_from: Length | None
    bins: list[Bin] | None
    curriculum: Curriculum
    stop: StopSettings
    evaluation: Evaluation

    @classmethod
    def load_family(cls) -> "Family":
        from synthlab.sequences.family import SEQUENCES

        return SEQUENCES

    @property
    def tested_task(self) -> Member:
        """The task of tests: that of training with the keys of ``test_task``."""
        return {**self.task, **self.test_task}

    @property
    def shape(self) -> str:
        protocol = self.protocol.model_dump(exclude={"name", "lr"})
        parts = [self.task, self.model, self.encoding, self.positions, protocol, self.train_from, self.train_length]
        how = [self.curriculum.model_dump(), self.stop.model_dump()]
        return json.dumps([*parts, *how], sort_keys=True)
