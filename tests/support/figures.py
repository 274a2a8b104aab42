"""The studies of conf/study/."""

from synthlab.config.composition import compose
from synthlab.config.families import conf_dir
from synthlab.studies.overrides import Overrides
from synthlab.studies.study import Paper, Plan, Study

SETS = ("all", "default", "extensions")


def files_of(paper: str) -> list[str]:
    """The studies of a paper that are no sets of others."""
    return sorted(p.stem for p in (conf_dir() / "study" / paper).glob("*.yaml") if p.stem not in SETS)


def studies(paper: Paper, name: str = "default") -> dict[str, Study]:
    """What a file of the paper holds."""
    return paper.studies(compose([f"study={paper.name}/{name}"], "study")["study"])


def planned(paper: Paper, name: str, *given: str, seeds: int = 1) -> Plan:
    """The one study in a file of the paper, under settings as typed."""
    ((own, study),) = studies(paper, name).items()
    return study.plan(own, Overrides(given), seeds=seeds)


FIGURES = files_of("output_alignment")
