"""``make reference``: keep the figures, numbers and verdicts of results folders as the committed reference run, and put
its tables into the README and the pages of ``docs/``.

``python -m experiments.reference RESULTS RECIPE`` takes a folder in which the studies of all papers were drawn,
``output_alignment/maps`` before ``output_alignment/all``, and ``make theory`` has written, with
``output_alignment/mechanism`` in its folder ``mechanism``; and one in which ``output_alignment/ablation`` and then
``output_alignment/recipe`` were drawn. What a folder lacks is left as it is, as is the recipe's with RESULTS alone;
without folders the tables are renewed.
"""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.committed import study_verdicts
from experiments.papers import papers
from experiments.rejudging import rejudged
from synthlab.output import tell
from synthlab.studies.presentation.pages import template

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"
FIRST = "output_alignment"  # the paper whose verdicts are those of one command for all its figures
THE_LABS = (FIRST, "long_short_alignment")  # those whose claims the README lists
OURS = "(Ours.)"  # how a claim begins that is not the paper's


def keep(results: Path, folder: Path, *beside: str) -> None:
    """Copy the sheets (PNG) and all CSVs of a paper's ``results`` to ``folder``, with the files ``beside``."""
    if not (results / "figures").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    tables = sorted((results / "figures").glob("*.csv"))
    panels = {table.stem for table in tables}
    sheets = [path for path in sorted((results / "figures").glob("*.png")) if path.stem not in panels]
    for path in (*sheets, *tables, *(results / name for name in beside)):
        shutil.copyfile(path, folder / path.name)


def keep_theory(theory: Path, folder: Path) -> None:
    """Copy the tables and sheets (PNG) of ``theory`` over what is in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*theory.glob("*.csv"), *theory.glob("*.png")):
        shutil.copyfile(path, folder / path.name)


def blocks() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table by the name of its block: those that each paper makes, the verdicts of its studies
    by the paper's name, ``verdicts`` on the README's claims, and ``bench``."""
    found: dict[str, list[dict[str, Any]]] = {"bench": json.loads((REFERENCE / "bench.json").read_text())["rows"]}
    for name, load in papers().items():
        folder = REFERENCE / name
        if folder.exists():
            tables = sorted(folder.glob("*_claims.csv"))
            found |= {name: study_verdicts(tables)} if tables else {}
            found |= load().blocks(folder)
    rows = [row for block in THE_LABS for row in found[block]]
    return found | {"verdicts": [row for row in rows if not row["says"].startswith(OURS)]}


def judged_anew() -> dict[Path, pd.DataFrame]:
    """Return the verdicts on all claims that the committed tables alone decide, by the file that holds them."""
    anew = [rejudged(load(), REFERENCE / name) for name, load in papers().items()]
    return {path: claims for each in anew for path, claims in each.items()}


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
        sys.exit("error: give the folder of all results and that of the recipe, the former alone, or nothing")
    if folders:
        for name in papers():
            keep(folders[0] / name, REFERENCE / name, *(["claims.csv"] if name == FIRST else []))
        keep(folders[0] / "mechanism" / FIRST, REFERENCE / FIRST / "mechanism", "claims.csv")
        keep_theory(folders[0] / "theory", REFERENCE / "theory")
    if len(folders) == 2:
        keep(folders[1] / FIRST, REFERENCE / FIRST / "recipe", "claims.csv")
    for path, claims in judged_anew().items():
        claims.to_csv(path, index=False)
    for page in pages():
        page.write_text(renewed(page.read_text()))


if __name__ == "__main__":
    main()
