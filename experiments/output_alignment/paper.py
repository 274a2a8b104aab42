"""Output Alignment as the machinery of studies takes it: its studies are the figures of ``conf/figure/``."""

from pathlib import Path

from experiments.output_alignment import mechanism
from experiments.output_alignment.claims import CLAIMS
from synthlab.regression.config import RunConfig
from synthlab.studies.figures import Figure
from synthlab.studies.presentation.report import About
from synthlab.studies.study import Paper

ABOUT = About(
    "The synthetic experiments",
    "Output Alignment: A Top-down Approach to Length Generalization",
    "arXiv 2506.11769",
    Path(__file__).parent / "deviations.yaml",
    "protocol=lab",
)
PAPER = Paper(
    *(ABOUT, "figure", Figure, RunConfig),
    claims=CLAIMS | mechanism.CLAIMS,
    report="report.html",
    verdicts="claims.csv",
    between="",
)
