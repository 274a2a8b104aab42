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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.committed_verdicts import (
    CLAIMS,
    MARK,
    RUNS,
    TABLES,
    read_text,
    split_model,
    verdicts,
    write_tables,
)
from experiments.messages import NAME, compress, draw_message
from experiments.papers import papers
from experiments.reference_runs import describe_missing, list_entries, train
from experiments.reference_tables import make_tables
from experiments.rejudging import rejudge
from synthlab.output import say, tell
from synthlab.studies.pages import template
from synthlab.studies.verdicts import WORDS

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
OURS = ("ours", "our question", "the lab's")  # how the place of a claim begins that is no paper's
# How the names of blocks begin that have a line for each claim: of a paper, and of the lab about it.
FINDINGS, OWN = "findings_", "own_"
DECIDED = ("holds", "does not hold", "mixed")


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
    if shared[RUNS]:
        shared[TABLES] = {name: table for name, table in shared[TABLES].items() if _needs_records(name, table)}
    for file, tables in shared.items():
        write_tables(folder / file, tables)


def keep_all(results: Path) -> None:
    """Keep what the studies of all papers, and ``make theory``, have drawn below ``results``."""
    for folder in dict.fromkeys(entry.results for entry in list_entries(results)):
        for name in papers():
            keep(folder / name / "figures", REFERENCE / name)
    keep(results / "theory", REFERENCE / "theory")


def _needs_records(name: str, table: pd.DataFrame) -> bool:
    """Return True if a table needs more than the runs' table: curves over lengths, and counts of all runs."""
    return name.endswith("_table") or {"length", "median"} <= set(table)


def blocks() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table by the name of its block.

    These are the tables that each paper makes, the verdicts of its studies by the paper's name, its ``findings_PAPER``
    and ``own_PAPER``, ``bench``, and those of ``reference_tables``.
    """
    found: dict[str, list[dict[str, Any]]] = {"bench": json.loads((REFERENCE / "bench.json").read_text())["rows"]}
    for name, load in papers().items():
        folder = REFERENCE / name
        if folder.exists():
            found[name] = verdicts(pd.read_csv(folder / CLAIMS))
            found |= load().blocks(folder)
    return found | find_findings(found) | make_tables()


def find_findings(tables: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Return, by the name of its block, a row for each claim of a paper, and for each claim of the lab about it.

    A row has the claim in words (``says``), its ``verdict``, which links to the section with its table, and that
    ``section``, empty if no page has the table. The lab's own claims that differ only by their model or task share a
    row.
    """
    sections, found = find_sections(), {}
    for name, load in papers().items():
        claims = {claim.name: claim for claim in load().claims.values()}
        rows = {
            row["id"]: {
                "says": row["says"].removeprefix(MARK),
                "verdict": link_verdict(row["verdict"], sections.get(block, "")) + note_fit(row),
                "section": sections.get(block, ""),
            }
            for block, table in tables.items()
            for row in table
            if row.get("id") in claims
        }
        own = [row for id, row in rows.items() if claims[id].where.startswith(OURS)]
        found[FINDINGS + name] = [row for id, row in rows.items() if not claims[id].where.startswith(OURS)]
        found[OWN + name] = merge_claims(own)
    return {block: rows for block, rows in found.items() if rows}


def note_fit(row: Mapping[str, Any]) -> str:
    """Return how many runs fit, in brackets, for a decided claim most of whose runs do not; otherwise nothing."""
    counts = re.match(r"(\d+) of (\d+)", row["fit"])
    if not counts or not row["verdict"].startswith(DECIDED) or 2 * int(counts[1]) >= int(counts[2]):
        return ""
    return f" ({counts[0]} runs fit)"


def link_verdict(verdict: str, section: str) -> str:
    """Return the verdict with its first words, such as "does not hold", as a link to the ``section``, if any."""
    words = "|".join([*WORDS, r"\d+ \w+: no verdict"])
    return re.sub(rf"^({words})", rf"[\1]({section})", verdict) if section else verdict


def merge_claims(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows, with one row for claims that say the same of several models or tasks.

    The verdict of a shared row has a line for each verdict, which names the models or tasks (``split_model``) if there
    are at most three, and counts them otherwise.
    """
    alike: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        about, claim = split_model(row["says"])
        key = (claim or row["says"], row["section"])
        alike.setdefault(key, {})[about] = row["verdict"]
    merged = []
    for row in rows:
        about, claim = split_model(row["says"])
        verdicts_of = alike.get((claim, row["section"]), {})
        if len(verdicts_of) < 2:
            merged.append(row)
        elif about == next(iter(verdicts_of)):
            merged.append(row | {"says": claim[0].upper() + claim[1:], "verdict": merge_verdicts(verdicts_of)})
    return merged


def merge_verdicts(verdicts_of: dict[str, str]) -> str:
    """Return a line for each verdict, with the models or tasks that have it, or their number."""
    models: dict[str, list[str]] = {}
    for model, verdict in verdicts_of.items():
        link = re.match(r"\[[^]]*\]\([^)]*\)", verdict)
        models.setdefault(link[0] if link else verdict, []).append(model)
    count = len(verdicts_of)
    return "<br>".join(
        f"{verdict}: {'; '.join(names) if count <= 3 else f'{len(names)} of {count} models'}"
        for verdict, names in models.items()
    )


def find_sections() -> dict[str, str]:
    """Return the section of each block, as a page of ``docs/`` links to it."""
    found = {}
    for page in sorted((ROOT / "docs").glob("*.md")):
        heading = ""
        for line in page.read_text().splitlines():
            if title := re.fullmatch(r"##+ (.+)", line):
                heading = title[1]
            elif block := re.fullmatch(r"<!-- (\w+) -->", line):
                anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
                found[block[1]] = f"{page.name}#{anchor}"
    return found


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
        text = form.render(block=block, rows=rows)
        pattern = rf"(<!-- {block} -->\n).*?(<!-- /{block} -->)"
        page = re.sub(pattern, lambda found, text=text: found[1] + text + found[2], page, flags=re.DOTALL)
    return page


def pages() -> list[Path]:
    """Return the README and the pages of the site."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def main() -> None:
    """Run the command."""
    readme = ROOT / "README.md"
    if not readme.exists():
        tell(f"error: {readme}: is not there; python -m experiments.reference needs a checkout")
        sys.exit(2)
    match sys.argv[1:]:
        case []:
            pass
        case ["list", results]:
            say(*describe_missing(Path(results)))
            return
        case ["train", results]:
            sys.exit(train(Path(results)))
        case ["keep", results]:
            keep_all(Path(results))
        case words:
            tell(f"error: {' '.join(words)}: must be list RESULTS, train RESULTS, keep RESULTS, or nothing")
            sys.exit(2)
    for name, claims in rejudge_all().items():
        write_tables(REFERENCE / name / CLAIMS, claims)
    renew_statements()
    draw_messages()
    tables = blocks()
    for page in pages():
        page.write_text(renew_page(page.read_text(), tables))


if __name__ == "__main__":
    main()
