"""The studies of conf/study/."""

from omegaconf import OmegaConf

from experiments.output_alignment.paper import PAPER
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


def panels_of(figure: str) -> list:
    return [panel for found in PAPER.studies(loaded(figure)).values() for panel in found.panels.values()]


def loaded(name: str) -> dict:
    raw = OmegaConf.to_container(OmegaConf.load(conf_dir() / "study" / "output_alignment" / f"{name}.yaml"))
    return {key: value for key, value in raw.items() if key != "defaults"}
