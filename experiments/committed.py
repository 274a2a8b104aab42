"""Verdicts of reference runs, read back from their tables, as rows of the tables of pages."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from synthlab.studies.checks import FACTORS, Witnesses
from synthlab.studies.presentation.report import in_words, told
from synthlab.studies.verdicts import counts_in_words

UNJUDGED = ("not judged", "not tested")


def verdicts(folder: Path) -> dict[str, dict[str, Any]]:
    """By claim: the ``verdict`` of a reference run, that at ``others`` of its thresholds, how many runs ``fit``, and
    what the checks that do not hold, or ``rest``, measured."""
    found = {}
    for claim, rows in _checks(folder / "claims.csv").groupby("claim"):
        rest: Any = rows[rows["answer"] != "holds"].to_dict("records")
        found[str(claim)] = _judged(rows) | {"rest": [in_words(row) for row in rest]}
    return found


def study_verdicts(tables: Iterable[Path]) -> list[dict[str, Any]]:
    """Of each claim in the ``tables`` of studies: what the paper ``says``, the ``verdict``, that at ``others`` of its
    thresholds, and how many runs ``fit``."""
    checks = pd.concat([_checks(path) for path in tables])
    return [
        {"id": claim, "says": rows["says"].iloc[0], **_judged(rows)}
        for claim, rows in sorted(checks.groupby("claim"), key=lambda each: _in_order(str(each[0])))
    ]


def _judged(rows: pd.DataFrame) -> dict[str, Any]:
    return {"verdict": _told(rows), "others": _others(rows), "fit": _fit(rows)}


def _in_order(id: str) -> list[str | int]:
    """C2 comes before C10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", id)]


def _checks(path: Path) -> pd.DataFrame:
    """A row for each check. Older tables know of no witnesses but seeds."""
    checks = pd.read_csv(path)
    return checks if "of" in checks else checks.assign(number=checks["seeds"], of="seeds")


def _told(rows: pd.DataFrame) -> str:
    """The verdict of a claim, and how its checks came out where that is more than the word."""
    word = rows["verdict"].iloc[0]
    if word in UNJUDGED:
        return f"{word}: {_why(rows)}"
    deciding = rows[rows["answer"].isin(["undecided", "fails"])] if word == "undecided" else rows
    fewest = deciding.sort_values("number").head(1)
    witnesses = [Witnesses(int(row["number"]), str(row["of"])) for _, row in fewest.iterrows()]
    counts = f" ({counts_in_words(list(rows['answer']))})" if word != "holds" and len(rows) > 1 else ""
    return told(word, witnesses[0] if witnesses else Witnesses(0)) + counts


def _why(rows: pd.DataFrame) -> str:
    """Why a claim is not judged, or not tested."""
    without = rows[~rows["answer"].isin(["holds", "fails", "undecided"])].reindex(columns=["why_untested", "check"])
    reasons = without.astype(object).bfill(axis="columns").iloc[:, 0]
    return "; ".join(dict.fromkeys(str(reason) for reason in reasons))


def _others(rows: pd.DataFrame) -> dict[str, str]:
    """The verdict at half and at twice the thresholds; empty where they have no other."""
    words = rows.reindex(columns=[f"verdict_{name}" for name in FACTORS]).iloc[0]  # older tables have none
    if words.isna().any() or rows["verdict"].iloc[0] in UNJUDGED:
        return {}
    return dict(zip(FACTORS, words, strict=True))


def _fit(rows: pd.DataFrame) -> str:
    """How many of the runs fit, with the verdict over those where it is another; empty where nothing is asked for."""
    row = rows.reindex(columns=["runs", "fit", "verdict", "verdict_fit"]).iloc[0]  # older tables do not say
    if pd.isna(row["fit"]):
        return ""
    other = "" if row["verdict_fit"] == row["verdict"] else f": {row['verdict_fit']}"
    return f"{row['fit']:.0f} of {row['runs']:.0f}{other}"
