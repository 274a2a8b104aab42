"""The committed tables of the reference run: files that several tables share, and their verdicts as rows of pages."""

import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pandas as pd

from synthlab.studies.checks import FACTORS, FEW, Witnesses
from synthlab.studies.report import COLUMNS, describe_check, describe_measured, format_word
from synthlab.studies.verdicts import DECIDING, counts_in_words

# The files of a paper, and the name of their first column, which identifies the tables in one.
RUNS, TABLES, CLAIMS = "runs.csv.xz", "tables.csv.xz", "claims.csv"
FIRST_COLUMN = {RUNS: "study", TABLES: "table", CLAIMS: "study"}
UNTESTED = "not tested"
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
    """Return each claim, in the order of their names, with its statement (``says``) and its ``verdict``.

    ``others`` has the verdicts at other thresholds, ``fit`` the number of runs that fit, and ``rest`` the measurements
    of the checks that do not hold.

    Args:
        checks: A row for each check, in the columns of ``report.add_statements``.
    """
    checks = checks.reindex(columns=[*COLUMNS, "says"])
    return [
        {
            "id": claim,
            "says": rows["says"].iloc[0],
            "verdict": _describe_verdict(rows),
            "others": _find_other_verdicts(rows),
            "fit": _fit(rows),
            "rest": _list_unmet(rows),
        }
        for claim, rows in sorted(checks.groupby("claim"), key=lambda each: _split_digits(str(each[0])))
    ]


def group_alike(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of ``verdicts`` sorted so that claims that say the same of several models stand together.

    A row also has its model or task (``about``), and the rest of the claim (``shared``), empty where it repeats that of
    the row before.
    """
    parts = [split_model(row["says"]) for row in rows]
    order = list(dict.fromkeys(shared for _, shared in parts))
    table, last = [], ""
    for (about, shared), row in sorted(zip(parts, rows, strict=True), key=lambda each: order.index(each[0][1])):
        told = "" if shared == last else shared[0].upper() + shared[1:]
        table.append(row | {"about": about, "shared": told})
        last = shared
    return table


def split_model(says: str) -> tuple[str, str]:
    """Return the model or task that a claim of the lab's own is about, before its first colon, and the claim itself."""
    about, _, shared = says.removeprefix(MARK).partition(": ")
    return about, shared


def _split_digits(id: str) -> list[str | int]:
    """Return a sort key of a claim: C2 comes before C10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", id)]


def _describe_verdict(rows: pd.DataFrame) -> str:
    """Return the verdict of a claim, with the counts of its checks if they add information."""
    word = rows["verdict"].iloc[0]
    if word == UNTESTED:
        return f"{word} ({_why(rows)})"
    deciding = rows[rows["answer"].isin(DECIDING[word])] if word in DECIDING else rows
    fewest = deciding.sort_values("number").head(1)
    witnesses = [Witnesses(int(row["number"]), str(row["of"])) for _, row in fewest.iterrows()]
    told = format_word(word, witnesses[0] if witnesses else Witnesses(0))
    if word == FEW:
        return f"{told} ({_describe_few(deciding)})"
    counts = f" ({counts_in_words(list(rows['answer']))})" if word != "holds" and len(rows) > 1 else ""
    return told + counts


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


def _find_other_verdicts(rows: pd.DataFrame) -> dict[str, str]:
    """Return the verdict at half and at twice the thresholds; empty if they cannot be scaled."""
    words = rows[[f"verdict_{name}" for name in FACTORS]].iloc[0]
    if words.isna().any() or rows["verdict"].iloc[0] in (UNTESTED, FEW):
        return {}
    return dict(zip(FACTORS, words, strict=True))


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


def _list_unmet(rows: pd.DataFrame) -> list[str]:
    """Return each check that does not hold, and each reason why there is none."""
    records = cast(list[dict[str, Any]], rows.to_dict("records"))
    return [describe_check(row) for row in records if row["answer"] != "holds"]
