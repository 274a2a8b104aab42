"""Output Alignment as the machinery of studies takes it: see ``conf/study/``."""

from pathlib import Path

from experiments.output_alignment import mechanism
from experiments.output_alignment.claims import CLAIMS
from experiments.output_alignment.figures import NumberFigure
from experiments.output_alignment.tables import blocks
from synthlab.studies.presentation.report import About
from synthlab.studies.study import Paper

ABOUT = About(
    "The synthetic experiments",
    "Output Alignment: A Top-down Approach to Length Generalization",
    "arXiv 2506.11769",
    Path(__file__).parent / "deviations.yaml",
    "protocol=lab",
)
PAPER = Paper("output_alignment", ABOUT, NumberFigure, CLAIMS | mechanism.CLAIMS, between="", blocks=blocks)
