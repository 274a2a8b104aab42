"""The studies of conf/study/."""

from synthlab.cli.studies import read_studies, studies_of
from synthlab.runs.composition import compose
from synthlab.studies.study import Paper, Study


def names_of(paper: str) -> list[str]:
    """The names of a paper's studies, those of sets of them left out."""
    return sorted(name for name in studies_of(paper) if name in read_studies(paper, name))


def studies(paper: Paper, name: str = "default") -> dict[str, Study]:
    """The studies that PAPER/name selects, as Hydra composes them."""
    found = compose([f"study={paper.name}/{studies_of(paper.name)[name]}"], "study")["study"]
    return paper.studies({key: found[key] for key in read_studies(paper.name, name)})


FIGURES = names_of("output_alignment")
