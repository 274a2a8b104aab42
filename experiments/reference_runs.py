"""What the reference run trains (``reference.yaml``), about how long that takes, and its training."""

import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import OmegaConf

from experiments.papers import papers
from synthlab.cli.studies import read_studies
from synthlab.output import tell
from synthlab.runs.run import Run
from synthlab.storage.store import Store
from synthlab.studies.overrides import Overrides
from synthlab.sweeps.sweep import count_workers
from synthlab.training.ensembles import plan_ensembles, seconds

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


def describe_costs(root: Path) -> Iterator[str]:
    """Yield a line for each study and one for all: how many runs are missing, and about how many minutes they take.

    A run that several studies have counts once. Estimates are scaled by how long recorded runs of the same family took.
    """
    workers, seen, rows = count_workers(None), set[tuple[Path, str]](), list[tuple[str, int, list[Run]]]()
    took, estimated = dict[str, float](), dict[str, float]()
    for entry in list_entries(root):
        store = Store(entry.results, entry.settings.get("save"))
        runs = [run for id, run in entry.plan_runs().items() if (entry.results, id) not in seen]
        seen |= {(entry.results, run.id) for run in runs}
        missing = [run for run in runs if not store.holds(run)]
        rows.append((f"{entry.paper}/{entry.file}", len(runs), missing))
        for family, recorded in group_by_family(run for run in runs if store.holds(run)).items():
            spent = sum(store.read(run.id).seconds for run in recorded) / workers / 60
            took[family] = took.get(family, 0.0) + spent
            estimated[family] = estimated.get(family, 0.0) + minutes(recorded, workers)
    yield f"{'study':<36} {'runs':>5} {'missing':>8} {'minutes':>8}   on {workers} cores"
    total = 0.0
    for name, of, missing in rows:
        cost = sum(
            minutes(runs, workers) * (took[family] / estimated[family] if family in took else 1)
            for family, runs in group_by_family(missing).items()
        )
        total += cost
        yield f"{name:<36} {of:>5} {len(missing):>8} {cost:>8.0f}"
    counts = sum(of for _, of, _ in rows), sum(len(missing) for *_, missing in rows)
    yield f"{'all':<36} {counts[0]:>5} {counts[1]:>8} {total:>8.0f}"


def minutes(configs: Sequence[Run], workers: int) -> float:
    """Return the approximate minutes of training the runs on ``workers`` processes."""
    return sum(map(seconds, plan_ensembles(configs, workers))) / workers / 60


def group_by_family(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Return the runs of each family of tasks."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(type(run).__name__, []).append(run)
    return found


def train(root: Path) -> int:
    """Print what is missing below ``root``, and train it, study by study.

    The same call again continues where it stopped.

    Returns:
        0, or the exit status of the first command that failed, which has printed the reason.
    """
    tell(*describe_costs(root))
    for entry in list_entries(root):
        tell(" ".join(["synthlab study", *entry.command]))
        if status := subprocess.run([sys.executable, "-m", "experiments", *entry.command]).returncode:
            return status
    return 0
