"""The figures of conf/."""

from omegaconf import OmegaConf

from experiments.output_alignment.paper import PAPER
from synthlab.config.composition import conf_dir

GROUPS_OF_FIGURES = ("all", "paper")
FIGURES = sorted(p.stem for p in (conf_dir() / "figure").glob("*.yaml") if p.stem not in GROUPS_OF_FIGURES)


def panels_of(figure: str) -> list:
    return [panel for found in PAPER.studies(loaded(figure)).values() for panel in found.panels.values()]


def loaded(name: str) -> dict:
    raw = OmegaConf.to_container(OmegaConf.load(conf_dir() / "figure" / f"{name}.yaml"))
    return {key: value for key, value in raw.items() if key != "defaults"}
