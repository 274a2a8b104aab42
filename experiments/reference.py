"""``make reference``: keep the figures, numbers and verdicts of two result folders as the committed reference run, and
put its tables into the README and the pages of ``docs/``.

``python -m experiments.reference RESULTS RECIPE`` takes a folder in which ``figure=maps`` and then ``figure=all`` were
drawn and ``make theory`` and ``make alignment`` have written, and ``figure=mechanism`` in its folder ``mechanism``; and
one in which ``figure=ablation`` and then ``figure=recipe`` were drawn. Of ``sequences`` ``crasp``, ``nope`` and
``chomsky`` are kept. What a folder lacks is left as it is, as is the recipe's with RESULTS alone; without folders the
tables are renewed.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pandas as pd

from experiments.__main__ import other_paper
from experiments.long_short_alignment.extension_claims import EXTENSIONS
from experiments.long_short_alignment.paper import PAPER as LONG_SHORT
from experiments.output_alignment import mechanism
from experiments.output_alignment.claims import CLAIMS
from experiments.output_alignment.paper import ABOUT
from experiments.rejudging import rejudged
from experiments.sequences.reference import TABLES, results
from synthlab.output import tell
from synthlab.studies.checks import FACTORS, Witnesses
from synthlab.studies.presentation.pages import template
from synthlab.studies.presentation.report import deviations, in_words, told
from synthlab.studies.verdicts import counts_in_words

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
UNJUDGED = ("not judged", "not tested")
OURS = "(Ours.)"  # how a claim begins that is not the paper's


def keep(figures: Path, folder: Path, *beside: Path) -> None:
    """Copy the sheets (PNG) and all CSVs of ``figures``, and the files ``beside``, over what is in ``folder``."""
    _cleared(folder)
    tables = sorted(figures.glob("*.csv"))
    panels = {table.stem for table in tables}
    sheets = [path for path in sorted(figures.glob("*.png")) if path.stem not in panels]
    for path in (*sheets, *tables, *beside):
        shutil.copyfile(path, folder / path.name)


def keep_papers(figures: Path, folder: Path) -> None:
    """Copy the sheet (PNG) and all CSVs of each paper on tasks whose answers are tokens, over what is in ``folder``."""
    for name in TABLES:
        if (figures / f"{name}_table.csv").exists():
            folder.mkdir(parents=True, exist_ok=True)
            others = [path.stem.removesuffix("table") for path in figures.glob(f"{name}_*_table.csv")]  # crasp_quick_
            tables = [path for path in figures.glob(f"{name}_*.csv") if not path.stem.startswith(tuple(others))]
            for path in (figures / f"{name}.png", *tables):
                shutil.copyfile(path, folder / path.name)


def keep_theory(theory: Path, folder: Path) -> None:
    """Copy the tables and sheets (PNG) of ``theory`` to ``folder``, over what is there."""
    _cleared(folder)
    for path in (*theory.glob("*.csv"), *theory.glob("*.png")):
        shutil.copyfile(path, folder / path.name)


def _cleared(folder: Path) -> None:
    """Make ``folder``, without the tables and pictures that it held."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*folder.glob("*.csv"), *folder.glob("*.png")):
        path.unlink()


def verdicts(folder: Path) -> dict[str, dict[str, Any]]:
    """By claim: the ``verdict`` of a reference run, that at ``others`` of its thresholds, how many runs ``fit``, and
    what the checks that do not hold, or ``rest``, measured."""
    checks = _checks(folder / "claims.csv")
    return {
        str(claim): {
            "verdict": _told(rows),
            "others": _others(rows),
            "fit": _fit(rows),
            "rest": _rest(rows),
        }
        for claim, rows in checks.groupby("claim")
    }


def study_verdicts(tables: Iterable[Path]) -> list[dict[str, Any]]:
    """Of each claim in the ``tables`` of studies: what the paper ``says``, the ``verdict``, that at ``others`` of its
    thresholds, and how many runs ``fit``."""
    checks = pd.concat([_checks(path) for path in tables])
    return [
        {
            "id": claim,
            "says": rows["says"].iloc[0],
            "verdict": _told(rows),
            "others": _others(rows),
            "fit": _fit(rows),
        }
        for claim, rows in sorted(checks.groupby("claim"), key=lambda each: _in_order(str(each[0])))
    ]


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


def _rest(rows: pd.DataFrame) -> list[str]:
    """Each check that does not hold, and each reason why there is none."""
    records = cast(list[dict[str, Any]], rows.to_dict("records"))
    return [in_words(row) for row in records if row["answer"] != "holds"]


def blocks() -> dict[str, list[dict[str, Any]]]:
    """The rows of each table, by the name of its block: all checks in ``claims``, ``language`` and ``extension``, one
    line for each claim of the paper's, but for those of ``extension``, in ``verdicts``."""
    lab, recipe = verdicts(REFERENCE), verdicts(REFERENCE / "recipe")
    claims = [{"claim": claim, "lab": lab[id], "recipe": recipe.get(id)} for id, claim in CLAIMS.items()]
    language = study_verdicts(sorted((REFERENCE / "language").glob("*_claims.csv")))
    aligned = [row for row in language if row["id"] not in EXTENSIONS]
    inside = verdicts(REFERENCE / "mechanism")
    accounts = [{"id": id, "says": claim.statement, **inside[id]} for id, claim in mechanism.CLAIMS.items()]
    lines = [
        {
            "id": row["claim"].id,
            "says": row["claim"].statement,
            "verdict": row["lab"]["verdict"],
            "fit": row["lab"]["fit"],
        }
        for row in claims
    ]
    return {
        "verdicts": [row for row in [*lines, *aligned] if not row["says"].startswith(OURS)],
        "claims": claims,
        "language": aligned,
        "extension": [row for row in language if row["id"] in EXTENSIONS],
        "mechanism": accounts,
        "deviations": deviations(ABOUT.deviations),
        **{name: study_verdicts([path]) for name, path in _papers().items()},
        **results(REFERENCE / "sequences"),
        "bench": json.loads((REFERENCE / "bench.json").read_text())["rows"],
    }


def _papers() -> dict[str, Path]:
    """By paper on tasks whose answers are tokens, its verdicts, if they are there."""
    found = {name: REFERENCE / "sequences" / f"{name}_claims.csv" for name in TABLES}
    return {name: path for name, path in found.items() if path.exists()}


def judged_anew() -> dict[Path, pd.DataFrame]:
    """Return the verdicts on all claims that the committed tables alone decide, by the file that holds them."""
    found = rejudged(LONG_SHORT, REFERENCE / "language")
    for name in TABLES:
        found |= rejudged(other_paper(name), REFERENCE / "sequences", name)
    return found


def renewed(page: str) -> str:
    """``page`` with the text between ``<!-- BLOCK -->`` and ``<!-- /BLOCK -->`` made anew, for each block."""
    for block, rows in blocks().items():
        text = template("experiments", "readme.md.j2", markup=False).render(block=block, rows=rows)
        pattern = rf"(<!-- {block} -->\n).*?(<!-- /{block} -->)"
        page = re.sub(pattern, lambda found, text=text: found[1] + text + found[2], page, flags=re.DOTALL)
    return page


def pages() -> list[Path]:
    """The README and the pages of the site."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def main() -> None:
    readme = ROOT / "README.md"
    if not readme.exists():
        tell(f"error: {readme}: is not there; python -m experiments.reference needs a checkout")
        sys.exit(2)
    folders = [Path(folder) for folder in sys.argv[1:]]
    if len(folders) > 2:
        sys.exit("error: give the results folder of figure=all and that of figure=recipe, the former alone, or nothing")
    if folders:
        given = folders[0]
        if (given / "figures").exists():
            keep(given / "figures", REFERENCE, given / "claims.csv")
        if (given / "theory").exists():
            keep_theory(given / "theory", REFERENCE / "theory")
        inside = given / "mechanism"
        if inside.exists():
            keep(inside / "figures", REFERENCE / "mechanism", inside / "claims.csv")
        if (given / "language").exists():
            keep(given / "language" / "figures", REFERENCE / "language")
        keep_papers(given / "sequences" / "figures", REFERENCE / "sequences")
    if len(folders) == 2:
        keep(folders[1] / "figures", REFERENCE / "recipe", folders[1] / "claims.csv")
    for path, claims in judged_anew().items():
        claims.to_csv(path, index=False)
    for page in pages():
        page.write_text(renewed(page.read_text()))


if __name__ == "__main__":
    main()
