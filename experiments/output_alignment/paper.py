"""Output Alignment as the machinery of studies takes it: see ``conf/study/``."""

from pathlib import Path

from experiments.committed import verdicts
from experiments.output_alignment import mechanism
from experiments.output_alignment.claims import CLAIMS
from experiments.output_alignment.figures import NumberFigure
from synthlab.studies.presentation.report import About, deviations
from synthlab.studies.study import Paper, Rows

ABOUT = About(
    "The synthetic experiments",
    "Output Alignment: A Top-down Approach to Length Generalization",
    "arXiv 2506.11769",
    Path(__file__).parent / "deviations.yaml",
    "protocol=lab",
)


def blocks(folder: Path) -> dict[str, Rows]:
    """Return the rows of each table by the name of its block, from the files of the reference runs."""
    lab, recipe, inside = (verdicts(folder / name) for name in ("", "recipe", "mechanism"))
    claims = {f"output_alignment.{id}": claim.statement for id, claim in CLAIMS.items()}
    accounts = {f"output_alignment.{id}": claim.statement for id, claim in mechanism.CLAIMS.items()}
    return {
        "output_alignment": [
            {"id": id, "says": says, **lab[id], "recipe": recipe.get(id)} for id, says in claims.items()
        ],
        "mechanism": [{"id": id, "says": says, **inside[id]} for id, says in accounts.items()],
        "deviations": [dict(row) for row in deviations(ABOUT.deviations)],
    }


PAPER = Paper("output_alignment", ABOUT, NumberFigure, CLAIMS | mechanism.CLAIMS, between="", blocks=blocks)
