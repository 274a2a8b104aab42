"""The committed tables of the reference run: files that several tables share, and their verdicts as rows of pages."""

import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pandas as pd

from synthlab.studies.checks import FACTORS, FEW, Witnesses
from synthlab.studies.report import COLUMNS, describe_measured, format_word
from synthlab.studies.verdicts import DECIDING

# The files of a paper, and the name of their first column, which identifies the tables in one.
RUNS, TABLES, CLAIMS = "runs.csv.xz", "tables.csv.xz", "claims.csv"
FIRST_COLUMN = {RUNS: "study", TABLES: "table", CLAIMS: "study"}
UNTESTED = "not tested"
DECIDED = ("holds", "does not hold", "mixed")
MARK = "(Ours.) "  # how the statements of some of the lab's own claims begin


def read_text(source: Path | StringIO) -> pd.DataFrame:
    """Return a CSV with all values as text, empty for missing ones."""
    return pd.read_csv(source, dtype=str, keep_default_na=False)


def read_tables(path: Path) -> dict[str, pd.DataFrame]:
    """Return the tables in a file of ``write_tables``, by name, as each was before; none without a file."""
    return {name: pd.read_csv(StringIO(table.to_csv(index=False))) for name, table in _split(path).items()}


def write_tables(path: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    """Write ``tables`` into the file that they share, replacing those of the same name.

    Columns without any value are left out. The same tables give the same bytes.
    """
    texts = {name: read_text(StringIO(table.to_csv(index=False))) for name, table in tables.items()}
    every = dict(sorted((_split(path) | texts).items()))
    if every:
        named = pd.concat(map(_with_values, every.values()), keys=every, names=[FIRST_COLUMN[path.name], None])
        named.reset_index(level=0).to_csv(path, index=False)


def _split(path: Path) -> dict[str, pd.DataFrame]:
    if not path.exists():
        return {}
    name = FIRST_COLUMN[path.name]
    parts = read_text(path).groupby(name, sort=False)
    return {str(key): _with_values(rows.drop(columns=name)) for key, rows in parts}


def _with_values(table: pd.DataFrame) -> pd.DataFrame:
    """Return the non-empty columns of a table of texts."""
    return table.loc[:, (table != "").any()]


def verdicts(checks: pd.DataFrame) -> list[dict[str, Any]]:
    """Return each claim, in the order of their names: its statement (``says``), its verdict and how many runs fit.

    Args:
        checks: A row for each check, in the columns of ``report.add_statements``.
    """
    checks = checks.reindex(columns=[*COLUMNS, "says"])
    return [
        {
            "id": claim,
            "says": rows["says"].iloc[0],
            "word": rows["verdict"].iloc[0],
            "verdict": _describe_verdict(rows),
            "fit": _fit(rows),
        }
        for claim, rows in sorted(checks.groupby("claim"), key=lambda each: _split_digits(str(each[0])))
    ]


def merge_alike(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for all ``verdicts`` that say the same of several models or tasks, with a line for each verdict.

    A line names the models or tasks if they are at most three, and counts them otherwise.
    """
    alike: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        about, _, claim = row["says"].removeprefix(MARK).partition(": ")
        alike.setdefault(claim, {}).setdefault(row["word"], []).append(about)
    merged = []
    for claim, words in alike.items():
        lines = [f"{word}: {'; '.join(of) if len(of) <= 3 else f'{len(of)} models'}" for word, of in words.items()]
        merged.append({"claim": claim[0].upper() + claim[1:], "verdict": "<br>".join(lines)})
    return merged


def _split_digits(id: str) -> list[str | int]:
    """Return a sort key of a claim: C2 comes before C10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", id)]


def _describe_verdict(rows: pd.DataFrame) -> str:
    """Return the verdict of a claim: how many checks hold, what one open check measured, and other verdicts.

    Those are at half and at twice the thresholds, for a decided claim.
    """
    word = rows["verdict"].iloc[0]
    if word == UNTESTED:
        return f"{word} ({_why(rows)})"
    deciding = rows[rows["answer"].isin(DECIDING[word])] if word in DECIDING else rows
    fewest = deciding.sort_values("number").head(1)
    witnesses = [Witnesses(int(row["number"]), str(row["of"])) for _, row in fewest.iterrows()]
    told = format_word(word, witnesses[0] if witnesses else Witnesses(0))
    if word == FEW:
        return f"{told} ({_describe_few(deciding)})"
    number, holding, failing = len(rows), (rows["answer"] == "holds").sum(), (rows["answer"] == "fails").sum()
    if number > 1 and word == "does not hold":
        told += f" ({failing} of {number} fail)"
    elif number > 1 and word != "holds":
        fail = f", {failing} {'fails' if failing == 1 else 'fail'}" if failing else ""
        told += f" ({holding} of {number} {'holds' if holding == 1 else 'hold'}{fail})"
    records = cast(list[dict[str, Any]], rows[rows["answer"].isin(["fails", "undecided"])].to_dict("records"))
    if len(records) == 1:
        told += f". {records[0]['check']}: {describe_measured(records[0])}"
    return told + _describe_others(rows)


def _describe_others(rows: pd.DataFrame) -> str:
    """Return the verdicts of a decided claim at half and at twice the thresholds that differ from its own."""
    word = rows["verdict"].iloc[0]
    words = {name: rows[f"verdict_{name}"].iloc[0] for name in FACTORS}
    told = [f"{name}: {other}" for name, other in words.items() if pd.notna(other) and other != word]
    return f" ({', '.join(told)})" if told and word in DECIDED else ""


def _describe_few(rows: pd.DataFrame) -> str:
    """Return the medians and ranges of up to two checks; for more, how many have all seeds in the range."""
    if len(rows) <= 2:
        records = cast(list[dict[str, Any]], rows.to_dict("records"))
        return "; ".join(f"{row['check']}: {describe_measured(row)}" for row in records)
    every, none = (rows["agree"] == rows["seeds"]).sum(), (rows["agree"] == 0).sum()
    return f"all seeds are in the range in {every} of {len(rows)} checks{f', none in {none}' if none else ''}"


def _why(rows: pd.DataFrame) -> str:
    """Return why a claim is not tested, or not tested."""
    without = rows.loc[~rows["answer"].isin(["holds", "fails", "undecided", FEW]), ["why_untested", "check"]]
    reasons = without.astype(object).bfill(axis="columns").iloc[:, 0]
    return "; ".join(dict.fromkeys(str(reason) for reason in reasons))


def _fit(rows: pd.DataFrame) -> str:
    """Return how many of the runs fit, with the verdict over those if it differs; empty without a level."""
    row = rows.iloc[0]
    if pd.isna(row["fit"]):
        return ""
    count, word = f"{row['fit']:.0f} of {row['runs']:.0f}", str(row["verdict_fit"])
    if word == row["verdict"]:
        return count
    if word == FEW and pd.notna(row["number_fit"]):
        word = format_word(word, Witnesses(int(row["number_fit"]), str(row["of_fit"])))
    return f"{count}: {word}"
