"""The suites of ``conf/suite/`` as the machinery of studies takes them. They are of no one paper and have no claims."""

from pathlib import Path

from experiments.sequences.suites import Suite
from synthlab.sequences.config import SequencesConfig
from synthlab.studies.presentation.report import About
from synthlab.studies.study import Paper
from synthlab.studies.verdicts import Claims

ABOUT = About(
    "Tasks whose answers are tokens",
    "A Formal Framework for Understanding Length Generalization in Transformers",
    "arXiv 2410.02140, and the others that docs/sequences.md names",
    Path(__file__).parent / "deviations.yaml",
    "protocol=sequences",
)
PAPER = Paper(ABOUT, "suite", Suite, SequencesConfig, Claims())
