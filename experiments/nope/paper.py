"""Kazemnejad et al. (2023) as the machinery of studies takes it: its studies are the files of ``conf/study/nope/``."""

from pathlib import Path

from experiments.nope.claims import CLAIMS, LEVEL
from experiments.nope.tables import blocks
from experiments.sequences.ranked import Ranked
from synthlab.studies.presentation.report import About
from synthlab.studies.study import Paper

HERE = Path(__file__).parent
ABOUT = About(
    "Copying, reversing and small arithmetic, in miniature,",
    "The Impact of Positional Encoding on Length Generalization in Transformers",
    "arXiv 2305.19466",
    HERE / "deviations.yaml",
    "study nope",
)


class Nope(Ranked):
    """The paper's tasks; a model generalizes to a range of lengths if it gets more than half of the answers right."""

    numbers = HERE / "published.yaml"
    level = LEVEL


PAPER = Paper("nope", ABOUT, Nope, CLAIMS, blocks=blocks)
