"""A run in one row: its settings, its losses within and beyond the training length, its misalignment."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import pandas as pd

from synthlab.records import Record

FAR = 4  # training lengths: the paper trains on 4k tokens and tests perplexity on 16k
FURTHER = 5  # the same of numbers: the paper trains on lengths to 10 and tests to 50
LEAST = 1e-9  # what an error of 0 counts as where its logarithm is taken
LOSSES = {f"loss_{multiple}x": multiple for multiple in (1, 2, FAR)}

# What is measured of a run, and what it is called on a figure; l is the training length.
MISALIGNMENTS = {
    "sce": "misalignment, symmetric cross-entropy, nats",
    "excess": "misalignment beyond entropy, nats",
    "kl": "misalignment, KL divergence, nats",
    "squared": "misalignment, squared distance",
    "sce_overlap": "misalignment of overlapping windows",
    "excess_overlap": "misalignment of overlapping windows, beyond entropy",
}
QUANTITIES = MISALIGNMENTS | {
    "loss_1x": "loss after 1 to $l$ tokens, nats",
    "loss_2x": "loss after $l$ to $2l$ tokens, nats",
    "loss_4x": "loss after $3l$ to $4l$ tokens, nats",
    "loss_to_4x": "loss over $4l$ tokens (log perplexity), nats",
}

# The same of runs with a number for an answer.
SCALAR_QUANTITIES = {
    "wasserstein_scaled": "Wasserstein distance between lengths, in deviations",
    "wasserstein": "Wasserstein distance between lengths",
    "suffix_scaled": "difference between suffixes, in deviations",
    "suffix": "difference between suffixes",
    "targets_scaled": "Wasserstein distance of the targets, in deviations",
    "wasserstein_within": "Wasserstein distance less its mean over models",
    "error_5x": "relative error at $5l$, log$_{10}$",
    "error_within": "error less its mean over models, log$_{10}$",
}


class Planned(NamedTuple):
    """A study's runs; of each, by its identity, the arm and what sets its model apart; and what was asked of them."""

    configs: list[Any]
    arms: dict[str, str]
    variants: dict[str, str]
    overrides: str

    @property
    def first(self) -> str:
        """The arm that the others are held against."""
        return next(iter(self.arms.values()))


def table(records: Iterable[Record], planned: Planned) -> pd.DataFrame:
    """A row for each finished run: ``id``, ``arm``, whether that is the ``baseline``, ``variant``, its settings, and
    what was measured."""
    return pd.DataFrame([row(record, planned) for record in records if record.diverged_at is None])


def row(record: Record, planned: Planned) -> dict[str, Any]:
    """One run's row."""
    identity = record.config.id
    settings = {key: value for key, value in record.settings().items() if not isinstance(value, list)}
    arm = planned.arms[identity]
    told = {"id": identity, "arm": arm, "baseline": arm == planned.first, "variant": planned.variants[identity]}
    return told | settings | losses(record) | record.outputs.iloc[0].to_dict()


def losses(record: Record) -> dict[str, float]:
    """Mean losses by how many tokens were seen, in training lengths, as far as it was tested; those of the perfect
    predictor too, where it is known."""
    length, found = record.config.train_length, {}
    for metric, prefix in (("loss", ""), ("perfect", "perfect_"), ("excess", "excess_")):
        if metric not in record.metrics:
            continue
        values = record.metrics[metric].to_numpy()
        reached = {name: k for name, k in LOSSES.items() if k * length <= len(values)}
        found |= {f"{prefix}{name}": values[(k - 1) * length : k * length].mean() for name, k in reached.items()}
        if FAR * length <= len(values):
            found[f"{prefix}loss_to_{FAR}x"] = values[: FAR * length].mean()
    return found


def scalar_table(records: Iterable[Record]) -> pd.DataFrame:
    """A row for each finished run with a number for an answer: its settings, misalignment and error. ``_within``: less
    the mean over the models of the same task and map, whose targets are the same."""
    runs = pd.DataFrame([_scalar_row(record) for record in records if record.diverged_at is None])
    means = runs.groupby(["task", "outrep"])[["wasserstein_scaled", "error_5x"]].transform("mean")
    return runs.assign(
        wasserstein_within=runs["wasserstein_scaled"] - means["wasserstein_scaled"],
        error_within=runs["error_5x"] - means["error_5x"],
    )


def _scalar_row(record: Record) -> dict[str, Any]:
    config, metrics = record.config, record.metrics.set_index("length")
    found = record.outputs.iloc[0].to_dict()
    members = {group: getattr(config, group)["name"] for group in ("task", "encoding", "outrep")}
    return (
        {"id": config.id, "seed": config.seed, "group": " ".join(members.values())}
        | members
        | found
        | {
            "error_5x": math.log10(max(metrics.loc[FURTHER * config.train_length, "relative_error"], LEAST)),
        }
    )
