"""The studies of conf/study/."""

from synthlab.cli.studies import read_studies, studies_of
from synthlab.runs.composition import compose
from synthlab.studies.overrides import Overrides
from synthlab.studies.study import Paper, Plan, Study


def names_of(paper: str) -> list[str]:
    """The names of a paper's studies, those of sets of them left out."""
    return sorted(name for name in studies_of(paper) if name in read_studies(paper, name))


def studies(paper: Paper, name: str = "default") -> dict[str, Study]:
    """The studies that PAPER/name selects, as Hydra composes them."""
    found = compose([f"study={paper.name}/{studies_of(paper.name)[name]}"], "study")["study"]
    return paper.studies({key: found[key] for key in read_studies(paper.name, name)})


def planned(paper: Paper, name: str, *given: str, seeds: int = 1) -> Plan:
    """The one study of this name, under settings as typed."""
    ((own, study),) = studies(paper, name).items()
    return study.plan(own, Overrides(given), seeds=seeds)


FIGURES = names_of("output_alignment")
