"""The committed tables of the reference run: files that several tables share, and their verdicts as rows of pages."""

import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from synthlab.studies.checks import NO_WORD
from synthlab.studies.report import COLUMNS, describe_measured, tell_verdict

# The files of a paper, and the name of their first column, which identifies the tables in one.
RUNS, TABLES, CLAIMS = "runs.csv.xz", "tables.csv.xz", "claims.csv"
FIRST_COLUMN = {RUNS: "study", TABLES: "table", CLAIMS: "study"}


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
    """Return each claim, in the order of their names: its statement (``says``), verdict, effect, and how many runs fit.

    Args:
        checks: A row for each check, in the columns of ``report.add_statements``.
    """
    checks = checks.reindex(columns=[*COLUMNS, "says"])
    texts = ["verdict", "answer", "why_untested"]  # empty ones are read as missing
    checks[texts] = checks[texts].astype(object).fillna(NO_WORD)
    return [
        {
            "id": claim,
            "says": rows["says"].iloc[0],
            "word": rows["verdict"].iloc[0],
            "answers": rows["answer"].tolist(),
            "verdict": _describe_verdict(rows),
            "effect": _describe_effects(rows),
            "fit": _fit(rows),
        }
        for claim, rows in sorted(checks.groupby("claim"), key=lambda each: _split_digits(str(each[0])))
    ]


def _split_digits(id: str) -> list[str | int]:
    """Return a sort key of a claim: C2 comes before C10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", id)]


def _describe_verdict(rows: pd.DataFrame) -> str:
    """Return the verdict of a claim: its word and counts, or why it is not tested."""
    word = rows["verdict"].iloc[0]
    if word == "not tested":
        reasons = rows["why_untested"].where(rows["why_untested"] != "", rows["check"])
        return f"{word} ({'; '.join(dict.fromkeys(reasons))})"
    return tell_verdict(word, list(zip(rows["answer"], rows["number"], strict=True)))


def _describe_effects(rows: pd.DataFrame) -> str:
    """Return what the checks of a claim measured, those of one quantity and one range together.

    This is the range of their medians or, of the only one, the median and its interval.
    """
    told = []
    quantities = rows["check"].str.partition(": ")[2]
    for (quantity, needed), alike in rows.groupby([quantities, "needed"], sort=False):
        medians = alike.loc[alike["answer"] != "not tested", "median"]
        if len(medians) == 1:
            effect = describe_measured(alike.loc[medians.index[0]])
        else:
            effect = f"medians {medians.min():.3g} to {medians.max():.3g}, needed {needed}" if len(medians) else ""
        if effect:
            told.append(f"{quantity}: {effect}" if quantity else effect)
    return "; ".join(told)


def _fit(rows: pd.DataFrame) -> str:
    """Return how many of the runs fit, with the word over those if it differs; empty without a level."""
    row = rows.iloc[0]
    if pd.isna(row["fit"]):
        return ""
    count = f"{row['fit']:.0f} of {row['runs']:.0f}"
    word = NO_WORD if pd.isna(row["verdict_fit"]) else str(row["verdict_fit"])
    return count if word == row["verdict"] else f"{count}: {word or 'no word'}"
