"""The theory's tables: the ledger, exact optima, agreement of training with theory, and predictions beyond it."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd
import sympy

from synthlab.analysis.series import plain_label
from synthlab.storage.records import Record
from theory.closed_forms.formulas import loss_formula, optimum_error_formula, optimum_formula
from theory.closed_forms.linear_attention import TARGETS
from theory.closed_forms.optima import optimum, paper_optimum
from theory.ledger import Entry, Proposition, Status, describe_cause, write_plain
from theory.trained import SHIFTS, Case

# In the order of the paper's equations; propositions beyond the paper come last.
PROPOSITIONS = (
    *("definitions", "theorem2", "length", "sums", "mean", "theorem1", "table1", "output_maps", "begin"),
    "dispersion",
)
BEYOND = tuple("ABCDEFGHI")  # statements of the lab, not the paper's
SLOPE = 0.1  # relative tolerance for the growth of an error's root
MARKS = {Status.HOLDS: "+", Status.CONDITION: "o", Status.ASSUMPTION: "=", Status.SLIP: "~", Status.FAILS: "-"}
LINE = 120
FLAT = 0.1  # growth of a prediction for each unit of length that counts as none


def propositions() -> list[Proposition]:
    """Return all propositions, whose files are imported here."""
    return [import_module(f"theory.propositions.{name}").PROPOSITION for name in PROPOSITIONS]


def entries() -> list[tuple[Proposition, Entry]]:
    """Return the ledger: each statement with its proposition."""
    return [(proposition, entry) for proposition in propositions() for entry in proposition.entries]


def ledger() -> pd.DataFrame:
    """Return a row for each statement: its equation, text, status, reason and correction."""
    return pd.DataFrame(
        {
            "equation": entry.equation,
            "proposition": proposition.title,
            "says": entry.words,
            "status": str(entry.verdict.status),
            "fault": entry.fault,
            "consequence_of": "; ".join(entry.consequence_of),
            "why": entry.why,
            "mended": entry.mended_words,
            "printed_latex": entry.printed,
            "mended_latex": "; ".join(entry.corrections),
        }
        for proposition, entry in entries()
    )


def ledger_lines(table: pd.DataFrame) -> list[str]:
    """Return the ledger as lines for a terminal."""
    width = max(map(len, table["equation"]))
    lines = [line for row in table.itertuples() for line in _lines(row, width)]
    return [*lines, "", *(line for text in count_statements(table) for line in wrap(text, LINE))]


def count_statements(table: pd.DataFrame) -> list[str]:
    """Return the number of statements by status, and the number of faults behind those that fail."""
    papers, ours = (table[table["equation"].isin(BEYOND) == beyond] for beyond in (False, True))
    failing = papers[papers["status"] == str(Status.FAILS)]
    faults = failing.loc[failing["fault"] != "", "fault"].value_counts(sort=False)
    following = int((failing["fault"] == "").sum())
    named = "; ".join(f"{name} ({count} times)" if count > 1 else str(name) for name, count in faults.items())
    return [
        f"Of the paper's {_by_status(papers)}.",
        f"Of the {len(failing)} that fail {len(failing) - following} commit {len(faults)} separate faults: {named}. "
        f"The other {following} follow from these.",
        f"Beyond the paper {_by_status(ours)}.",
    ]


def _by_status(table: pd.DataFrame) -> str:
    counts = table["status"].value_counts()
    summary = ", ".join(f"{status} {counts[str(status)]}" for status in Status if str(status) in counts)
    return f"{len(table)} statements: {summary}"


def _lines(row: Any, width: int) -> list[str]:
    indent = " " * (width + 4)
    head = f"{MARKS[Status(row.status)]} {row.equation:<{width}}  "
    lines = wrap(f"{row.status.upper()}: {row.says}", LINE, initial_indent=head, subsequent_indent=indent)
    notes = [row.why, row.mended, describe_cause(row.fault, row.consequence_of)]
    return lines + [
        line for note in notes for line in wrap(note, LINE, initial_indent=indent, subsequent_indent=indent)
    ]


def optima(train_lengths: Sequence[int], test_length: int) -> pd.DataFrame:
    """Return a row for each task, training length and head dimension (2 stands for 2 or more).

    It has the exact minimal loss, M, and the error at ``test_length``, and the paper's loss and error.
    """
    rows = []
    for task in TARGETS:
        for length in train_lengths:
            paper = paper_optimum(task, length)
            paper_error = paper.error(test_length)
            for head_dim in (1, 2):
                best = optimum(task, length, head_dim)
                error = best.error(test_length)
                rows.append(
                    {
                        "task": task,
                        "train_length": length,
                        "head_dim": head_dim,
                        "is_unique": best.is_unique,
                        "loss": str(best.loss),
                        "paper_loss": write_plain(paper.loss),
                        **{f"M{i}{j}": write_plain(best.outputs[i, j]) for i in (0, 1) for j in (0, 1)},
                        "test_length": test_length,
                        "error": write_plain(error),
                        "paper_error": write_plain(paper_error),
                        **{f"M{i}{j}_decimal": float(best.outputs[i, j]) for i in (0, 1) for j in (0, 1)},
                        "loss_decimal": float(best.loss),
                        "paper_loss_decimal": float(paper.loss),
                        "error_decimal": float(error),
                        "paper_error_decimal": float(paper_error),
                    }
                )
    return pd.DataFrame(rows)


def agreement_by_case(agreement: pd.DataFrame) -> pd.DataFrame:
    """Return ``trained.agreement`` with a row for each case: the largest differences over seeds."""
    keys = ["task", "head_dim", "outrep", "shift", "bos"]
    grouped = agreement.groupby(keys, sort=False, as_index=False)
    return grouped.agg(
        exact_loss=("exact_loss", "first"),
        loss=("loss", "max"),
        loss_off=("loss_off", "max"),
        error_off=("error_off", "max"),
        agree=("agrees", "sum"),
        seeds=("agrees", "size"),
    )


def by_shift(maps: pd.DataFrame) -> pd.DataFrame:
    """Return ``trained.comparison`` of the maps, a row for each map and shift, without and with BOS.

    It has the exact error at the longest length, the median of the trained models', and whether the shift is the
    ``better`` one of its map. Best maps come first.
    """
    last = maps[maps["length"] == maps["length"].max()].sort_values(["bos", "exact"])
    last = last.assign(better=~last.duplicated(["bos", "outrep"]))
    return last[["bos", "outrep", "shift", "length", "exact", "median", "better"]].reset_index(drop=True)


def predictions(comparison: pd.DataFrame, found: Mapping[Case, Sequence[Record]]) -> pd.DataFrame:
    """Return the predictions of linear attention for the softmax Transformer, and whether they hold.

    Values are medians over seeds.
    """
    test_length, train_length = int(comparison["length"].max()), int(comparison["train_length"].max())
    before = min(max(train_length + 1, round(0.8 * test_length)), test_length - 1)
    rows: list[dict[str, Any]] = []

    def add(task: str, what: str, exact: float, softmax: float, survives: bool) -> None:
        rows.append({"task": task, "prediction": what, "theory": exact, "softmax": softmax, "survives": survives})

    for task in ("length", "sum"):
        linear, softmax = _errors(comparison, task, "linear", "exact"), _errors(comparison, task, "softmax", "median")
        slopes = [
            (errors[test_length - 1] ** 0.5 - errors[before - 1] ** 0.5) / (test_length - before)
            for errors in (linear, softmax)
        ]
        add(
            task,
            f"quadratic growth: the root of the error grows, from {before} to {test_length}, per unit of length, by",
            slopes[0],
            slopes[1],
            abs(slopes[1] / slopes[0] - 1) <= SLOPE,
        )
        losses = [errors[:train_length].mean() for errors in (linear, softmax)]
        add(task, "the training lengths cannot be fitted: the loss is", losses[0], losses[1], losses[1] > losses[0] / 2)
        answers = _answers(found, Case("softmax", task))
        growth = (answers[test_length - 1] - answers[before - 1]) / (test_length - before)
        add(
            task,
            f"the answer no longer grows: from {before} to {test_length}, for each unit of length",
            0.0,
            growth,
            abs(growth) <= FLAT,
        )
    mean = _errors(comparison, "mean", "softmax", "median")
    add(
        "mean",
        f"the error does not grow: at {test_length} it is",
        0.0,
        mean[test_length - 1],
        mean[test_length - 1] < 1e-4,
    )
    return pd.DataFrame(rows)


def _errors(comparison: pd.DataFrame, task: str, model: str, column: str) -> np.ndarray:
    rows = comparison[(comparison["task"] == task) & (comparison["model"] == model)]
    if model == "linear":
        rows = rows[rows["head_dim"] == rows["head_dim"].max()]
    return rows[column].to_numpy()


def _answers(found: Mapping[Case, Sequence[Record]], case: Case) -> np.ndarray:
    """Return the mean prediction at each length: the expected mean target, plus the bias."""
    biases = [record.metrics["bias"].to_numpy() for record in found[case] if record.diverged_at is None]
    if not biases:
        return np.full(found[case][0].config.test_length, np.nan)
    lengths = np.arange(1, len(biases[0]) + 1)
    return np.median(biases, 0) + (lengths if case.task == "length" else lengths / 2)


@cache
def closed_forms() -> dict[str, dict[str, Any]]:
    """Return, for each task, M, the loss and the error of the optimum from head dimension 2 on.

    They are formulas in n = l_train.
    """
    return {
        task: {
            "M": optimum_formula(task),
            "loss": sympy.factor(loss_formula(optimum_formula(task), task)),
            "error": optimum_error_formula(task),
        }
        for task in TARGETS
    }


def closed_form_lines() -> list[str]:
    """Return the closed forms as lines for a terminal."""
    lines = ["Optima from head dimension 2 on, n = l_train >= 2, H_n harmonic numbers, M[last symbol, symbol seen]:"]
    for task, forms in closed_forms().items():
        for name, form in forms.items():
            head = f"  {task if name == 'M' else '':<8}{name:<6}= "
            lines += wrap(write_plain(form), LINE, initial_indent=head, subsequent_indent=" " * len(head))
    return lines


def training_lines(tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Return lines for a terminal that compare theory with training."""
    lines = ["Linear attention trained, against the exact optima (largest differences over seeds and lengths):"]
    for row in agreement_by_case(tables["agreement"]).itertuples():
        what = f"{row.task}, head dimension {row.head_dim}"
        if row.outrep != "identity" or row.bos:
            what += f", {row.outrep}{f', shift {row.shift}' if row.shift else ''}{', with BOS' if row.bos else ''}"
        lines.append(
            f"  {what:<52} loss {row.exact_loss:<8.4g} off by {row.loss_off:.1e}, error off by {row.error_off:.1e}: "
            f"{row.agree} of {row.seeds} agree"
        )
    lines += ["", "Predictions for the softmax Transformer:"]
    for row in tables["predictions"].itertuples():
        lines.append(
            f"  {'+' if row.survives else '-'} {row.task}: {row.prediction}: theory {row.theory:.3g}, "
            f"softmax {row.softmax:.3g}"
        )
    return [*lines, "", *wrap(map_words(tables["maps"]), LINE), "", *wrap(bound_words(tables["theorem1"]), LINE), ""]


def map_words(maps: pd.DataFrame) -> str:
    """Return the errors of the maps with BOS, in words."""
    found = by_shift(maps[maps["bos"]])
    order = ", ".join(
        f"{plain_label(str(row.outrep))} {row.exact:,.0f}{f' (shift {row.shift})' if row.shift else ''}"
        for row in found[found["better"]].itertuples()
    )
    (at,) = found["length"].unique()
    *_, worst = found.itertuples()
    return (
        f"Maps with BOS, exact errors at length {at}, each map with the better of the shifts "
        f"{' and '.join(map(str, SHIFTS))}: {order}. The worst of all is {plain_label(str(worst.outrep))} with shift "
        f"{worst.shift}: {worst.exact:,.0f}."
    )


def bound_words(bounds: pd.DataFrame) -> str:
    """Return the measured terms of theorem 1, in words."""
    last = bounds[bounds["length"] == bounds["length"].max()]
    violated = {name: int((bounds["error"] > bounds[name]).sum()) for name in ("printed", "corrected", "sharper")}
    loose = {name: (last[name] / last["error"]).median() for name in violated}
    ratio = bounds["ratio"].agg(["min", "max"])
    at, error = int(last["length"].iloc[0]), last["error"].median()
    from_misalign = (last["rho"] ** 2 * last["misalign"] / last["printed"]).median()
    from_rest = ((1 + last["c0_printed"]) * last["rho"] ** 2 / last["printed"]).median()
    return (
        f"Theorem 1, trained language models x test lengths: of {len(bounds)} bounds as printed {violated['printed']} "
        f"are violated, as corrected {violated['corrected']}. At length {at} the error is {error:.3f} (always "
        f"answering 0: 1); the bound as printed is {loose['printed']:.0f} times that, as corrected "
        f"{loose['corrected']:.0f} times, the one without misalignment {loose['sharper']:.0f} times. C1/C2 grows from "
        f"{ratio['min']:.2f} to {ratio['max']:.2f}, towards 1/2. But L_misalign is {last['misalign'].median():.1g}: of "
        f"the printed bound at that length, C1 L_misalign is {from_misalign:.1e} and C0 {from_rest:.0%}."
    )
