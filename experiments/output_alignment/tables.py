"""The committed runs as tables of pages: claims under the lab's recipe and the paper's, and what models compute."""

from pathlib import Path

from experiments.committed import verdicts
from experiments.output_alignment import mechanism
from experiments.output_alignment.claims import CLAIMS
from synthlab.studies.presentation.report import deviations
from synthlab.studies.study import Rows


def blocks(folder: Path) -> dict[str, Rows]:
    """Return the rows of each table by the name of its block, from the files of the reference runs."""
    lab, recipe, inside = (verdicts(folder / name) for name in ("", "recipe", "mechanism"))
    names = {id: f"output_alignment.{id}" for id in (*CLAIMS, *mechanism.CLAIMS)}
    rows = [{"id": names[id], "says": claim.statement, **lab[names[id]]} for id, claim in CLAIMS.items()]
    inside_rows = [
        {"id": names[id], "says": claim.statement, **inside[names[id]]} for id, claim in mechanism.CLAIMS.items()
    ]
    return {
        "output_alignment": [row | {"recipe": recipe.get(row["id"])} for row in rows],
        "mechanism": inside_rows,
        "deviations": [dict(row) for row in deviations(Path(__file__).parent / "deviations.yaml")],
    }
