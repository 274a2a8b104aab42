"""One row for each run: its settings, its losses within and beyond the training length, its misalignment."""

import math
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, NamedTuple, cast

import pandas as pd

from synthlab.analysis.series import Settings, name_series
from synthlab.storage.records import Record

FAR = 4  # in training lengths: the paper trains on 4k tokens and tests perplexity on 16k
LONGEST = 8  # in training lengths, for studies that test so far
FURTHER = 5  # in training lengths, for number tasks: the paper trains on lengths to 10 and tests to 50
LEAST = 1e-9  # the value of an error of 0 when its logarithm is taken
# The columns whose medians the report and the terminal show.
SUMMARY = ("loss_1x", "loss_2x", "loss_4x", "loss_8x", "perfect_loss_4x", "sce", "excess", "excess_loss_4x")
WITHIN = "_within"  # suffix of columns that have the mean over similar models subtracted
SAME_TARGETS = ["task", "outrep", "seed"]  # models with equal values in these have the same targets
# The settings that decide what a run is tested on.
TEXTS = ("task", "train_length", "test_length", "evaluation")
# The columns of a record that are averaged over contexts, and the prefix of each mean: loss_1x, accuracy_4x, ...
MEANS = {
    "loss": "loss",
    "calibrated": "calibrated_loss",
    "accuracy": "accuracy",
    "perfect": "perfect_loss",
    "excess": "excess_loss",
}
# Answers to questions in a record, by kind, and the prefix of the error rate: recall_error_1x, ...
ERRORS = {"accuracy": "recall_error", "needle": "needle_error", "tracking": "tracking_error"}
REACHES = (1, 2, FAR, LONGEST)  # in training lengths

# The quantities measured of a run, and their labels on figures; l is the training length. Beyond entropy: symmetric KL.
MISALIGNMENTS = {
    "sce": "misalignment, symmetric cross-entropy, nats",
    "excess": "misalignment beyond entropy, nats",
    "kl": "misalignment, KL divergence, nats",
    "squared": "misalignment, squared distance",
    "sce_overlap": "misalignment of overlapping windows",
    "excess_overlap": "misalignment of overlapping windows, beyond entropy",
}
CONTEXTS = {
    "1x": "after 1 to $l$ tokens",
    "2x": "after $l$ to $2l$ tokens",
    "4x": "after $3l$ to $4l$ tokens",
    "8x": "after $7l$ to $8l$ tokens",
    "to_4x": "over $4l$ tokens",
}
QUANTITIES = MISALIGNMENTS | {
    **{f"loss_{k}": f"loss {where}, nats" for k, where in CONTEXTS.items()},
    "loss_to_4x": "loss over $4l$ tokens (log perplexity), nats",
    **{f"calibrated_loss_{k}": f"calibrated loss {where}, nats" for k, where in CONTEXTS.items()},
    **{f"accuracy_{k}": f"top-1 accuracy {where}" for k, where in CONTEXTS.items()},
    "temperature": "temperature fitted within $l$",
    "recall_error_1x": "share of facts not recalled after $l$ tokens",
    "recall_error_4x": "share of facts not recalled after $4l$ tokens",
    "needle_error_1x": "the same, facts among fillers alone, after $l$ tokens",
    "needle_error_4x": "the same, facts among fillers alone, after $4l$ tokens",
    "tracking_error_1x": "share of linked facts not recalled after $l$ tokens",
    "tracking_error_4x": "share of linked facts not recalled after $4l$ tokens",
}

# Short names of quantities, for tables and axes with many.
SHORT = {
    "sce": "misalignment",
    "excess": "misalignment beyond entropy",
    "kl": "KL divergence",
    "squared": "squared distance",
    "loss_1x": "loss to 1x",
    "loss_4x": "loss at 4x",
    "loss_to_4x": "loss to 4x",
    "recall_error_1x": "recall errors at 1x",
    "recall_error_4x": "recall errors at 4x",
    "needle_error_1x": "needle errors at 1x",
    "needle_error_4x": "needle errors at 4x",
    "tracking_error_1x": "tracking errors at 1x",
    "tracking_error_4x": "tracking errors at 4x",
}
# The same for runs on number tasks.
SCALAR_QUANTITIES = {
    "wasserstein_scaled": "Wasserstein distance between lengths, in deviations",
    "wasserstein": "Wasserstein distance between lengths",
    "suffix_scaled": "difference between suffixes, in deviations",
    "suffix": "difference between suffixes",
    "targets_scaled": "Wasserstein distance of the targets, in deviations",
    "wasserstein_within": "Wasserstein distance, in deviations, less its mean over models",
    "wasserstein_raw_within": "Wasserstein distance less its mean over models",
    "error_5x": "relative error at $5l$, log$_{10}$",
    "error_within": "error less its mean over models, log$_{10}$",
}


class Named(NamedTuple):
    """The names of a run of a study: its arm, its variant and its group.

    ``baseline`` is True if that arm is the baseline; ``variant`` distinguishes its model; ``group`` is the training
    that runs share if they differ only in seed or extension.
    """

    arm: str
    baseline: bool
    variant: str
    group: str


def read_variant(variant: str) -> Settings:
    """Return the settings that a variant of a table of runs stands for, such as ``pi, fine-tuned 50 steps, lora=x``."""
    member, *others = variant.split(", ")
    found = {"encoding": member}
    for each in others:
        key, _, value = each.partition("=") if "=" in each else ("finetune", "", each)
        found[key] = value.removeprefix("fine-tuned ")
    return found


def name_variant(variant: str) -> str:
    """Return what readers call a variant of a table of runs."""
    return name_series(read_variant(variant))


def make_run_table(records: Iterable[Record], names: Mapping[str, Named]) -> pd.DataFrame:
    """Return a row for each finished run: its names, its settings, its measurements. ``names`` is keyed by run id."""
    return pd.DataFrame([make_row(record, names[record.config.id]) for record in records if record.diverged_at is None])


def make_row(record: Record, named: Named) -> dict[str, Any]:
    """Return one run's row."""
    settings = {key: value for key, value in record.settings().items() if not isinstance(value, list)}
    names = {"id": record.config.id} | named._asdict()
    return names | settings | average_losses(record) | errors(record) | read_measurements(record)


def read_measurements(record: Record) -> dict[str, Any]:
    """Return the measurements of a finished run that are not per test length, by name."""
    outputs = cast(pd.DataFrame, record.outputs)
    return {str(name): value for name, value in outputs.iloc[0].to_dict().items()}


def average_losses(record: Record) -> dict[str, float]:
    """Return means of the columns in ``MEANS`` over ranges of context, in training lengths, as far as tested.

    Those of the Bayes-optimal predictor are included if it is known.
    """
    length, means = record.config.train_length, {}
    for metric, name in MEANS.items():
        if metric not in record.metrics:
            continue
        values = record.metrics[metric].to_numpy()
        reached = [k for k in REACHES if k * length <= len(values)]
        means |= {f"{name}_{k}x": values[(k - 1) * length : k * length].mean() for k in reached}
        if FAR in reached:
            means[f"{name}_to_{FAR}x"] = values[: FAR * length].mean()
    return means


def errors(record: Record) -> dict[str, float]:
    """Return error rates at the end of texts of several training lengths, for each kind of questions.

    They are means over the depths of the fact.
    """
    answers, found = read_measurements(record), {}
    for (kind, name), k in product(ERRORS.items(), REACHES):
        shares = [share for of, share in answers.items() if of.startswith(f"{kind}@{k * record.config.train_length}@")]
        if shares:
            found[f"{name}_{k}x"] = 1 - sum(shares) / len(shares)
    return found


def mark_fits(runs: pd.DataFrame, level: float) -> pd.Series:
    """Return True for each run that fits: whose loss within the training length is close to the lowest known one.

    Its ``loss_1x`` must be at most ``level`` nats above the lowest loss that is known to be possible on its test texts.
    That is the loss of the Bayes-optimal predictor or, if it is unknown, the lowest of all ``runs`` tested on these
    texts.
    """
    texts = [name for name in runs if str(name).split(".")[0] in TEXTS]
    lowest = runs.groupby(texts, dropna=False)["loss_1x"].transform("min")
    if "perfect_loss_1x" in runs:
        lowest = runs["perfect_loss_1x"].fillna(lowest)
    return runs["loss_1x"] <= lowest + level


def less_means(runs: pd.DataFrame, by: list[str], columns: list[str]) -> pd.DataFrame:
    """Return ``runs`` with columns ``..._within``: those less their means over the runs with equal ``by``."""
    within = (runs[columns] - runs.groupby(by)[columns].transform("mean")).add_suffix(WITHIN)
    return runs.drop(columns=list(within), errors="ignore").join(within)


def scalar_table(records: Iterable[Record]) -> pd.DataFrame:
    """Return a row for each finished run on a number task: its settings, misalignment and error."""
    return pd.DataFrame([_scalar_row(record) for record in records if record.diverged_at is None])


def among_targets(runs: pd.DataFrame) -> pd.DataFrame:
    """Return rows of ``scalar_table`` with ``error_within`` and ``wasserstein_within``, scaled and ``_raw``.

    These have the mean over the models of the same task, map and seed subtracted. Those models are tested on the same
    sequences and so have the same targets.
    """
    columns = {"wasserstein_within": runs["wasserstein_scaled"], "wasserstein_raw_within": runs["wasserstein"]}
    columns |= {"error_within": runs["error_5x"]}
    by = [runs[name] for name in SAME_TARGETS]
    return runs.assign(**{name: values - values.groupby(by).transform("mean") for name, values in columns.items()})


def _scalar_row(record: Record) -> dict[str, Any]:
    config, metrics = record.config, record.metrics.set_index("length")
    members = {group: getattr(config, group)["name"] for group in ("task", "encoding", "outrep")}
    return (
        {"id": config.id, "seed": config.seed, "group": " ".join(members.values())}
        | members
        | read_measurements(record)
        | {
            "error_5x": math.log10(
                max(cast(float, metrics.loc[FURTHER * config.train_length, "relative_error"]), LEAST)
            ),
        }
    )


def summarize_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return medians over seeds of a few quantities, for each arm and model, and how many runs ``fit``, as texts."""
    alike = runs.groupby(["arm", "variant"], sort=False)
    medians = alike[[name for name in SUMMARY if name in runs]].median().map("{:.4g}".format)
    if "fit" in runs:
        medians["fit"] = alike["fit"].agg(lambda fit: f"{fit.sum()} of {len(fit)}")
    return medians.reset_index()
