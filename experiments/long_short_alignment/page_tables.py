"""The tables of pages on language models, made from the committed tables of runs."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pandas as pd

from experiments.correlations import (
    WITNESSES,
    Correlation,
    correlation,
    lead,
    pearson,
    spearman,
)
from experiments.long_short_alignment.arms import baseline, differences
from experiments.long_short_alignment.correlation_claims import OUTCOMES as FORECASTS
from experiments.long_short_alignment.drawn_encodings.analysis import tabulate_predictors
from experiments.long_short_alignment.power import power
from experiments.long_short_alignment.run_table import WITHIN, name_variant
from synthlab.cli.studies import read_studies
from synthlab.studies.study import Rows

OUTCOMES = {"loss_to_4x": "the paper's: log of perplexity to 4x", "loss_4x": "loss after 3x to 4x"}
PREDICTORS = {
    "sce": "misalignment (equation 2)",
    "excess": "misalignment beyond entropy",
    "loss_1x": "loss within the training length",
}
FAILURES = {"P1": "loss", "P2": "recall", "P3": "needle", "P4": "tracking"}  # by the claim on each
CHANGES = {
    "loss_1x": "loss within, nats",
    "loss_4x": "loss, nats",
    "calibrated_loss_4x": "calibrated loss, nats",
}
POINTS = 100


def make_blocks(runs: Mapping[str, pd.DataFrame]) -> dict[str, Rows]:
    """Return the rows of each table by the name of its block; ``runs`` has the committed runs of each study."""
    makers: dict[str, tuple[str, Callable[[pd.DataFrame], Rows]]] = {
        "table1_correlations": ("table1", tabulate_leads),
        "predictors_correlations": ("predictors", tabulate_failures),
        "encodings_correlations": ("encodings_text", tabulate_predictors),
        "coefficient": ("finetune", tabulate_coefficients),
        "compute_changes": ("compute", tabulate_changes),
        "regularized_changes": ("regularized", tabulate_changes),
        "against_cream_changes": ("against_cream", tabulate_changes),
    }
    found = {name: make(runs[study]) for name, (study, make) in makers.items() if study in runs}
    of_losses = ("untrained", "far_tokens", "methods")
    if runs.keys() >= {*of_losses}:
        found["losses"] = tabulate_losses(*(runs[study] for study in of_losses))
    return found


def tabulate_leads(runs: pd.DataFrame) -> Rows:
    """Return the correlation of each predictor with each outcome, and its lead over the last predictor.

    Correlations are among models of one setting, with 95 % intervals over settings.
    """
    unit, rows = WITNESSES["settings"], Rows()
    for outcome, told in OUTCOMES.items():
        for name, about in PREDICTORS.items():
            x, y, last = name + WITHIN, outcome + WITHIN, "loss_1x" + WITHIN
            is_last = name == "loss_1x"
            rows.append(
                {
                    "predictor": about,
                    "outcome": told,
                    "correlation": str(correlation(runs, x, y, unit, pearson)),
                    "lead": "" if is_last else str(lead(runs, x, last, y, unit, pearson)),
                    "lead by ranks": "" if is_last else str(lead(runs, x, last, y, unit, spearman)),
                }
            )
    return rows


def tabulate_failures(runs: pd.DataFrame) -> Rows:
    """Return the correlation of each predictor within the training length with each failure beyond it.

    Correlations are among models of one setting, with 95 % intervals over settings.
    """
    unit, rows = WITNESSES["settings"], Rows()
    for name in ("loss_1x", "sce", "excess", "the same questions"):
        row = {"within the training length": PREDICTORS.get(name, "error of the same questions")}
        for id, told in FAILURES.items():
            outcome, _ = FORECASTS[id]
            x = outcome.replace("4x", "1x") if name == "the same questions" else name
            is_empty = name == "the same questions" and outcome == "loss_4x"
            row[told] = "" if is_empty else str(correlation(runs, x + WITHIN, outcome + WITHIN, unit, pearson))
        rows.append(row)
    worth = read_studies("long_short_alignment", "predictors")["predictors"]["analysis"]["worth"]
    needed = {"within the training length": f"encodings that would find a lead of misalignment of {worth:g}"}
    for id, told in FAILURES.items():
        outcome, _ = FORECASTS[id]
        found = lead(runs, "sce" + WITHIN, "loss_1x" + WITHIN, outcome + WITHIN, WITNESSES["encodings"], pearson)
        needed[told] = _count_needed(found, runs["encoding"].nunique(), worth)
    return [*rows, needed]


def tabulate_coefficients(runs: pd.DataFrame) -> Rows:
    """Return the least and the greatest of the models' medians over seeds, for each weight of the regularizer.

    Losses and accuracy are changes from weight 0, misalignment the measured values.
    """
    quantities = {
        "loss_4x": CHANGES["loss_4x"],
        "calibrated_loss_4x": CHANGES["calibrated_loss_4x"],
        "accuracy_4x": "top-1 accuracy, points",
    }
    changed = {name: _find_medians(differences(runs, name), name) for name in quantities}
    measured = {"sce": "misalignment, nats", "excess": "beyond entropy, nats"}
    as_is = {name: _find_medians(runs.assign(series=runs["variant"]), name) for name in measured}
    rows = Rows()
    for arm in runs["arm"].unique():
        row = {"weight": arm.removeprefix("alpha ")}
        for name, told in quantities.items():
            values = changed[name].loc[arm]
            row[told] = "" if (values == 0).all() else " to ".join(format_change(name, values.agg(["min", "max"])))
        for name, told in measured.items():
            digits, values = 3 if name == "excess" else 2, as_is[name].loc[arm]
            row[told] = f"{values.min():.{digits}f} to {values.max():.{digits}f}"
        rows.append(row)
    return rows


def tabulate_changes(runs: pd.DataFrame) -> Rows:
    """Return how each arm differs from the first, for each model: the median over seeds [least, greatest].

    Several arms of several models have a row for each arm, with the loss of each model; others a row for each with all
    quantities of ``CHANGES``.
    """
    found: dict[str, dict[tuple[str, str], str]] = {}
    for name in CHANGES:
        changed = differences(runs, name)
        for (model, arm), rows in changed[changed["arm"] != baseline(runs)].groupby(["variant", "arm"], sort=False):
            middle, least, greatest = format_change(name, rows[name].agg(["median", "min", "max"]))
            found.setdefault(name, {})[name_variant(str(model)), str(arm)] = f"{middle} [{least}, {greatest}]"
    losses = found["loss_4x"]
    models, arms = (list(dict.fromkeys(each)) for each in zip(*losses, strict=True))
    if len(models) > 1 and len(arms) > 1:
        return [{"loss, nats": arm} | {model: losses.get((model, arm), "") for model in models} for arm in arms]
    key, told = (0, "model") if len(models) > 1 else (1, "arm")
    return [{told: pair[key]} | {about: found[name][pair] for name, about in CHANGES.items()} for pair in losses]


def tabulate_losses(untrained: pd.DataFrame, far_tokens: pd.DataFrame, methods: pd.DataFrame) -> Rows:
    """Return the loss of each method within N tokens, and after 3N to 4N and 7N to 8N, median over seeds."""
    last = select_last_tokens(untrained, far_tokens).assign(arm="RoPE, last N tokens")
    columns = {"loss_1x": "to N", "loss_4x": "3N to 4N", "loss_8x": "7N to 8N"}
    rows = pd.concat([untrained, last, methods], keys=["no", "no", "yes"], names=["trained"])
    medians = rows.groupby(["arm", "trained"])[list(columns)].median().sort_values("loss_8x").reset_index()
    shown = medians.assign(**{name: medians[name].map("{:.3f}".format) for name in columns})
    names = {"arm": "loss, nats", "trained": "trained further", **columns}
    return [dict(zip(names.values(), row, strict=True)) for row in shown[list(names)].itertuples(index=False)]


def select_last_tokens(untrained: pd.DataFrame, far_tokens: pd.DataFrame) -> pd.DataFrame:
    """Return the runs in which the models of ``untrained``, which are those of its seeds, read the last N tokens."""
    is_last = far_tokens["arm"].eq("last N tokens") & far_tokens["task"].eq("text")
    return far_tokens[is_last & far_tokens["seed"].isin(untrained["seed"])]


def format_change(name: str, values: Iterable[float]) -> list[str]:
    """Return changes of a quantity with their signs: of accuracy in points, of losses in nats."""
    if name == "accuracy_4x":
        return [f"{POINTS * value:+.2f}" for value in values]
    return [f"{value:+.4f}" if abs(value) < 0.1 else f"{value:+.2f}" for value in values]


def _count_needed(found: Correlation, number: int, worth: float) -> str:
    """Return how many encodings it takes for four studies of five to find a correlation or lead of ``worth``.

    A study with ``number`` encodings ``found`` what its error is taken from. Empty where the number is not known.
    """
    needed = power(found, number, worth).needed
    return f"{needed:.0f}" if np.isfinite(needed) else ""


def _find_medians(runs: pd.DataFrame, name: str) -> pd.Series:
    """Return the median of ``name`` over seeds, by arm and model."""
    return runs.groupby(["arm", "series"], sort=False)[name].median()
