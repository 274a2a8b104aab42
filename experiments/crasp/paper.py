"""Huang et al. (2025) as the machinery of studies takes it: its studies are the files of ``conf/study/crasp/``."""

from pathlib import Path

from experiments.crasp.claims import CLAIMS, LEVEL
from experiments.crasp.tables import blocks
from experiments.sequences.reproduction import Reproduction
from synthlab.studies.presentation.report import About
from synthlab.studies.study import Paper

HERE = Path(__file__).parent
ABOUT = About(
    "The tasks and regular languages, in miniature,",
    "A Formal Framework for Understanding Length Generalization in Transformers",
    "arXiv 2410.02140",
    HERE / "deviations.yaml",
    "study crasp",
)


class Crasp(Reproduction):
    """The paper's tasks; a model generalizes if it errs less often than the paper's own best of those that do not."""

    numbers = HERE / "published.yaml"
    level = LEVEL


PAPER = Paper("crasp", ABOUT, Crasp, CLAIMS, blocks=blocks)
