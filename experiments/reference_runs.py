"""What the reference run trains (``reference.yaml``), and its training."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import OmegaConf

from experiments.papers import papers
from synthlab.cli.studies import read_studies
from synthlab.output import print_err
from synthlab.runs.run import Run
from synthlab.storage.store import Store
from synthlab.studies.overrides import Overrides

UNCHANGED = Overrides()  # the studies as their files describe them


class Entry(NamedTuple):
    """A ``synthlab study PAPER/STUDY`` of the reference run, with its settings and the folder of its results."""

    paper: str
    file: str
    settings: dict[str, Any]
    results: Path

    @property
    def command(self) -> list[str]:
        """The words that follow ``synthlab study``."""
        settings = [f"{key}={value}" for key, value in self.settings.items()]
        return [f"{self.paper}/{self.file}", *settings, f"results={self.results}"]

    def plan_runs(self) -> dict[str, Run]:
        """Return its runs by identity; of ``seeds=auto`` those that each series begins with."""
        studies = papers()[self.paper]().studies(read_studies(self.paper, self.file))
        plans = [study.plan(name, UNCHANGED, self.settings.get("seeds")) for name, study in studies.items()]
        return {config.id: config for plan in plans for config in plan.configs}


def list_entries(root: Path) -> list[Entry]:
    """Return the studies of the reference run in its order, with results below ``root``."""
    listed: Any = OmegaConf.to_container(OmegaConf.load(Path(__file__).with_name("reference.yaml")))
    found = []
    for paper, studies in listed.items():
        for file, settings in studies.items():
            results = root / settings.pop("results", "")
            found.append(Entry(paper, file, settings, results))
    return found


def describe_missing(root: Path) -> Iterator[str]:
    """Yield a line for each study and one for all: how many runs it has, and how many are missing.

    A run that several studies have counts once.
    """
    seen, total = set[tuple[Path, str]](), [0, 0]
    yield f"{'study':<36} {'runs':>5} {'missing':>8}"
    for entry in list_entries(root):
        store = Store(entry.results, entry.settings.get("save"))
        runs = [run for id, run in entry.plan_runs().items() if (entry.results, id) not in seen]
        seen |= {(entry.results, run.id) for run in runs}
        missing = sum(not store.is_recorded(run) for run in runs)
        total = [total[0] + len(runs), total[1] + missing]
        yield f"{f'{entry.paper}/{entry.file}':<36} {len(runs):>5} {missing:>8}"
    yield f"{'all':<36} {total[0]:>5} {total[1]:>8}"


def train(root: Path) -> int:
    """Print what is missing below ``root``, and train it, study by study.

    The same call again continues where it stopped.

    Returns:
        0, or the exit status of the first command that failed, which has printed the reason.
    """
    print_err(*describe_missing(root))
    for entry in list_entries(root):
        print_err(" ".join(["synthlab study", *entry.command]))
        if status := subprocess.run([sys.executable, "-m", "experiments", *entry.command]).returncode:
            return status
    return 0
