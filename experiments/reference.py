"""Train the reference run, commit its results, and update its tables in the README and ``docs/``.

``python -m experiments.reference list RESULTS`` says how many runs are missing in a folder; ``train RESULTS``
trains them; ``keep RESULTS`` keeps the figures, numbers and verdicts that were drawn there so far,
and renews all tables. What the folder lacks is left as it is. Without arguments the tables are renewed from
``docs/reference/``.
"""

import json
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.atlas import page as atlas
from experiments.atlas.study import tabulate_recorded
from experiments.committed_verdicts import (
    CLAIMS,
    RUNS,
    TABLES,
    read_text,
    verdicts,
    write_tables,
)
from experiments.messages import NAME, compress, draw_message
from experiments.papers import papers
from experiments.reference_runs import describe_missing, list_entries, train
from experiments.reference_tables import make_tables
from experiments.rejudging import rejudge
from synthlab.output import print_err, print_out
from synthlab.storage.store import Store
from synthlab.studies.checks import NO_WORD
from synthlab.studies.pages import template

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
FILES = REFERENCE / "tables"  # what tables.md shows
OURS = ("ours", "our question", "the lab's")  # how the place of a claim begins that is no paper's
# Each paper as the scoreboard names it, with the section that has its claims, in the order of the page.
TITLES = {
    "output_alignment": "[Output Alignment](results.md#which-claims-hold)",
    "long_short_alignment": "[Long-Short Alignment](alignment_results.md)",
    "crasp": "[Huang et al.](papers.md#which-tasks-generalize-huang-et-al-2025)",
    "nope": "[Kazemnejad et al.](papers.md#which-encodings-generalize-kazemnejad-et-al-2023)",
    "chomsky": "[Delétang et al., Ruoss et al.](papers.md#the-chomsky-hierarchy-and-randomized-positions)",
    "addition": "[Cho et al., McLeish et al., Zhou et al.](papers.md#addition-cho-et-al-2024)",
    "eigenvalues": "[Grazzi et al.](papers.md#negative-eigenvalues-grazzi-et-al-2025)",
    "decidable": "[Yang et al. (2026)](papers.md#which-regular-languages-generalize-yang-et-al-2026)",
    "flipflops": "[Opper et al., Yang et al. (2025)](papers.md#flip-flops-of-other-densities)",
    "drope": "[Gelberg et al., Yang et al. (2025)](extension_results.md#positions-dropped-or-interleaved)",
    "softmax": "[Veličković et al., Nakanishi](papers.md#softmax-by-length)",
}


def keep(figures: Path, folder: Path) -> None:
    """Copy the content of a paper's ``figures`` to ``folder``.

    This is tables of runs, verdicts, tables that do not follow from the runs, and pictures that a page shows. A table
    that a page links to is a file of its own.
    """
    if not figures.exists():
        return
    linked = "".join(page.read_text() for page in pages())
    shared: dict[str, dict[str, pd.DataFrame]] = {RUNS: {}, CLAIMS: {}, TABLES: {}}
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(figures.glob("*.*")):
        is_linked = f"reference/{folder.name}/{path.name}" in linked
        if path.suffix == ".png" and is_linked:
            (folder / path.name).write_bytes(compress(path))
        elif path.suffix == ".csv" and is_linked:
            shutil.copyfile(path, folder / path.name)
        elif path.suffix == ".csv":
            study, _, kind = path.stem.rpartition("_")
            file = {"runs": RUNS, "bins": RUNS, "claims": CLAIMS}.get(kind, TABLES)
            shared[file][path.stem if file == TABLES else study] = read_text(path)
    of_runs = tuple(f"{study}_" for study in shared[RUNS])
    shared[TABLES] = {
        name: table
        for name, table in shared[TABLES].items()
        if not name.startswith(of_runs) or _needs_records(name, table)
    }
    for file, tables in shared.items():
        write_tables(folder / file, tables)


def keep_all(results: Path) -> None:
    """Keep what the studies of all papers, and ``make theory``, have drawn below ``results``."""
    for folder in dict.fromkeys(entry.results for entry in list_entries(results)):
        for name in papers():
            keep(folder / name / "figures", REFERENCE / name)
    keep(results / "theory", REFERENCE / "theory")
    atlas.keep_cells(tabulate_recorded(Store(results)))


def _needs_records(name: str, table: pd.DataFrame) -> bool:
    """Return True if a table needs more than the runs' table: curves over lengths, and counts of all runs."""
    return name.endswith("_table") or {"length", "median"} <= set(table)


def blocks() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table by the name of its block.

    These are the tables that each paper makes, the verdicts of its studies by the paper's name, the ``scoreboard`` of
    all papers, ``bench``, and those of ``reference_tables``.
    """
    found: dict[str, list[dict[str, Any]]] = {"bench": json.loads((REFERENCE / "bench.json").read_text())["rows"]}
    for name, load in papers().items():
        folder = REFERENCE / name
        if folder.exists():
            found[name] = verdicts(pd.read_csv(folder / CLAIMS))
            found |= load().blocks(folder)
    return found | {"scoreboard": count_verdicts()} | make_tables()


def count_verdicts() -> list[dict[str, Any]]:
    """Return how many claims of each paper, and of the lab's own, have which word, and how many checks which answer."""
    counts: dict[str, list[dict[str, Any]]] = {}
    own: list[dict[str, Any]] = []
    for name in sorted(papers(), key=[*TITLES].index):
        if not (REFERENCE / name).exists():  # its whole run is not among the committed ones
            continue
        claims = {claim.name: claim for claim in papers()[name]().claims.values()}
        for row in verdicts(pd.read_csv(REFERENCE / name / CLAIMS)):
            is_own = claims[row["id"]].where.startswith(OURS)
            (own if is_own else counts.setdefault(TITLES[name], [])).append(row)
    counts["all papers"] = [row for rows in counts.values() for row in rows]
    counts["[the lab's own predictions](deciding.md#the-labs-own-claims)"] = own
    return [_count(*each) for each in counts.items()]


def _count(about: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    few = [row for row in rows if set(row["answers"]) == {NO_WORD}]
    words = Counter(row["word"] for row in rows)
    answers = Counter(answer for row in rows for answer in row["answers"])
    return {
        "claims of": about,
        "all": len(rows),
        **{word: words[word] for word in ("holds", "fails", "fails in part")},
        "open": words[NO_WORD] - len(few),
        "not judged": len(few) + words["not tested"],  # under five seeds, or too few runs that fit
        "checks tested": sum(answers[answer] for answer in ("holds", "fails", "undecided")),
        "checks undecided": answers["undecided"],
    }


def renew_statements() -> None:
    """Write the present wording of each claim in its paper's code into the committed table of claims."""
    for name, load in papers().items():
        path = REFERENCE / name / CLAIMS
        if path.exists():
            says = {claim.name: claim.statement for claim in load().claims.values()}
            checks = read_text(path)
            checks["says"] = checks["claim"].map(says).fillna(checks["says"])
            checks.to_csv(path, index=False)


def draw_messages() -> None:
    """Draw the picture that is each paper's message, from its committed tables."""
    for name, load in papers().items():
        picture = draw_message(load(), REFERENCE / name)
        if picture is not None:
            (REFERENCE / name / NAME).write_bytes(picture)


def rejudge_all() -> dict[str, dict[str, pd.DataFrame]]:
    """Return, by paper and study, the verdicts on all claims that the committed tables alone decide."""
    return {name: rejudge(load(), REFERENCE / name) for name, load in papers().items()}


def renew_page(page: str, tables: dict[str, list[dict[str, Any]]]) -> str:
    """Return ``page`` with new text between ``<!-- BLOCK -->`` and ``<!-- /BLOCK -->``, for each of ``blocks``."""
    form = template("experiments", "readme.md.j2", markup=False)
    for block, rows in tables.items():
        text = form.render(rows=make_cells(rows))
        pattern = rf"(<!-- {block} -->\n).*?(<!-- /{block} -->)"
        page = re.sub(pattern, lambda found, text=text: found[1] + text + found[2], page, flags=re.DOTALL)
    return page


def make_cells(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a table as readers see them: what a claim says and its verdict, or what was measured."""
    shown = {"says": "claim", "verdict": "verdict", "effect": "measured", "fit": "runs that fit"}
    if "says" in rows[0]:
        rows = [row | {"says": f"{row['id'].partition('.')[2]}. {row['says']}"} for row in rows]
    elif "numbers" in rows[0]:
        shown = {"measure": "measure", "value": "measured", "goal": "goal", "details": "details"}
    else:
        return rows
    return [{shown[key]: row[key] for key in shown} for row in rows]


def make_files(tables: dict[str, list[dict[str, Any]]]) -> dict[Path, str]:
    """Return the text of the CSV of each table that stands on no page."""
    text = "".join(page.read_text() for page in pages())
    return {
        FILES / f"{block}.csv": pd.DataFrame(make_cells(rows)).to_csv(index=False)
        for block, rows in tables.items()
        if f"<!-- {block} -->" not in text
    }


def pages() -> list[Path]:
    """Return the README, the pages of the site and the page of tables."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), REFERENCE / "tables.md"]


def main() -> None:
    """Run the command."""
    readme = ROOT / "README.md"
    if not readme.exists():
        print_err(f"error: {readme}: is not there; python -m experiments.reference needs a checkout")
        sys.exit(2)
    match sys.argv[1:]:
        case []:
            pass
        case ["list", results]:
            print_out(*describe_missing(Path(results)))
            return
        case ["train", results]:
            sys.exit(train(Path(results)))
        case ["keep", results]:
            keep_all(Path(results))
        case words:
            print_err(f"error: {' '.join(words)}: must be list RESULTS, train RESULTS, keep RESULTS, or nothing")
            sys.exit(2)
    for name, claims in rejudge_all().items():
        write_tables(REFERENCE / name / CLAIMS, claims)
    renew_statements()
    draw_messages()
    if atlas.COMMITTED.exists():
        (ROOT / "docs" / "atlas.html").write_text(atlas.make_page({}))
    tables = blocks()
    for page in pages():
        page.write_text(renew_page(page.read_text(), tables))
    for path, text in make_files(tables).items():
        path.write_text(text)


if __name__ == "__main__":
    main()
