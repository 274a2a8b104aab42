"""Output Alignment in the form of studies: see ``conf/study/``."""

from pathlib import Path

import pandas as pd

from experiments import committed_verdicts
from experiments.output_alignment import (
    counting,
    learned_claims,
    mechanism,
    message,
    page_tables,
    readout,
    training_claims,
)
from experiments.output_alignment.claims import CLAIMS
from experiments.output_alignment.figures import NumberFigure
from synthlab.studies.report import About
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
    checks = pd.read_csv(folder / committed_verdicts.CLAIMS)
    by_id = {row["id"].removeprefix("output_alignment."): row for row in committed_verdicts.verdicts(checks)}
    found = {name: [by_id[id] for id in claims] for name, claims in BLOCKS.items()}
    return found | {
        "best_powers": page_tables.tabulate_powers(checks),
        "training_errors": page_tables.tabulate_changes(checks),
    }


BLOCKS = {
    "output_alignment": CLAIMS,
    "mechanism": mechanism.CLAIMS,
    "readout": readout.CLAIMS,
    "counting": counting.CLAIMS,
    "choosing": learned_claims.CLAIMS,
    "training": training_claims.CLAIMS,
}
EVERY = {id: claim for claims in BLOCKS.values() for id, claim in claims.items()}
PAPER = Paper("output_alignment", ABOUT, NumberFigure, EVERY, between="", blocks=blocks, message=message.draw)
