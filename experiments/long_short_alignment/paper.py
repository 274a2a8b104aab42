"""Long-Short Alignment as the machinery of studies takes it: see ``conf/study/``."""

from pathlib import Path

from experiments.long_short_alignment.claims import CLAIMS
from experiments.long_short_alignment.studies import AlignmentStudy
from experiments.long_short_alignment.tables import blocks
from synthlab.studies.presentation.report import About
from synthlab.studies.study import Paper

ABOUT = About(
    "The experiments on language models",
    "Output Alignment: A Top-down Approach to Length Generalization",
    "arXiv 2506.11769",
    Path(__file__).parent / "deviations.yaml",
    "protocol=language",
)
PAPER = Paper("long_short_alignment", ABOUT, AlignmentStudy, CLAIMS, blocks=blocks)
