"""Output Alignment in the form of studies: see ``conf/study/``."""

from pathlib import Path

import pandas as pd

from experiments import committed_verdicts
from experiments.output_alignment import choosing_claims, counting, mechanism, message, readout, training_claims
from experiments.output_alignment.claims import CLAIMS
from experiments.output_alignment.figures import NumberFigure
from synthlab.studies.report import About
from synthlab.studies.study import Paper, Rows

RECIPE = "figure1_recipe"  # the study that judges the same claims with the paper's training setup
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
    lab = {
        row["id"].removeprefix("output_alignment."): row
        for row in committed_verdicts.verdicts(checks[checks["study"] != RECIPE])
    }
    return {
        "output_alignment": [lab[id] for id in CLAIMS],
        "mechanism": committed_verdicts.merge_alike([lab[id] for id in mechanism.CLAIMS]),
        "readout": committed_verdicts.merge_alike([lab[id] for id in readout.CLAIMS]),
        "choosing": [lab[id] for id in choosing_claims.CLAIMS],
        "training": committed_verdicts.merge_alike([lab[id] for id in training_claims.CLAIMS]),
    }


EVERY = CLAIMS | mechanism.CLAIMS | readout.CLAIMS | choosing_claims.CLAIMS | training_claims.CLAIMS | counting.CLAIMS
PAPER = Paper("output_alignment", ABOUT, NumberFigure, EVERY, between="", blocks=blocks, message=message.draw)
