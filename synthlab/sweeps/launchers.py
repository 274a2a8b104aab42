"""Sweeps in jobs of a Hydra launcher: joblib, submitit (SLURM) or Ray, each job a batch of runs.

The sweep's process splits the missing runs into batches, writes each to a file, and gives the launcher one job for
each. A job reads its file and works as the sweep itself does, on one thread; it records each run when it is finished.
So a job that dies loses only the runs that it was training, and the same sweep distributes the missing runs again.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import BaseModel, Field, PositiveFloat

from synthlab.config.base import Config, config_of
from synthlab.config.composition import quote
from synthlab.config.hydra_errors import require_launcher
from synthlab.config.registry import STRICT, validate
from synthlab.storage.files import write_whole
from synthlab.storage.store import Store
from synthlab.sweeps.sweep import Sweep
from synthlab.sweeps.trackers import tracker_of
from synthlab.sweeps.workers import leave_with
from synthlab.training.devices import count_cores
from synthlab.training.ensembles import plan_ensembles, seconds

if TYPE_CHECKING:
    from hydra.types import HydraContext
    from omegaconf import DictConfig

SETTINGS = "hydra/jobs"  # the group of conf/ with the lab's settings of launchers, a file for each


class Batches(BaseModel):
    """How a sweep is split into jobs; ``conf/config.yaml`` describes the fields."""

    model_config = STRICT
    minutes: PositiveFloat
    at_most: Annotated[int, Field(gt=0)] | Literal["cores"] | None


class Launcher:
    """The launcher that Hydra's ``config`` of a sweep selects, with the lab's settings unless these are overridden.

    ``given`` are the overrides of Hydra's own keys, as they were typed.

    Raises InputError for invalid ``batches``, and for Ray if it is not installed.
    """

    def __init__(self, config: "DictConfig", context: "HydraContext"):
        from hydra.types import RunMode
        from omegaconf import OmegaConf

        typed = cast(dict[str, list[str]], OmegaConf.to_container(config.hydra.overrides, resolve=False))
        self.name, self.given = config.hydra.runtime.choices["hydra/launcher"], typed["hydra"]
        self.config, self.context = config, context
        require_launcher(self.name)  # the Ray launcher is part of the lab, Ray is not
        if self.name in context.config_loader.get_group_options(SETTINGS):
            overrides = [f"+{SETTINGS}={self.name}", *typed["hydra"], *typed["task"]]  # the user's settings go last
            name = config.hydra.job.config_name
            self.config = context.config_loader.load_configuration(name, overrides, RunMode.MULTIRUN)
        self.batches = validate(Batches, OmegaConf.to_container(self.config.batches, resolve=True), "batches")

    def launch(self, sweep: Sweep, folder: Path, device: str, tracker: dict[str, Any]) -> None:
        """Train the missing runs of ``sweep`` in jobs, and wait for them. Their files go below ``folder``.

        Raises the launcher's exception if a job is lost.
        """
        from hydra.core.plugins import Plugins

        parts = split_batches(sweep.find_missing(), self.batches, device)
        jobs = folder.absolute() / "jobs"
        jobs.mkdir(parents=True, exist_ok=True)
        root = sweep.store.files.path("")
        shared = {
            "results": root if "://" in root else os.path.abspath(root),
            "save": sweep.store.save,
            "tag": sweep.store.tag,
            "device": device,
            "tracker": {key: os.path.abspath(value) if key == "folder" else value for key, value in tracker.items()},
            "path": os.getcwd(),
            "parent": os.getpid() if self.name == "joblib" else None,
        }
        for number, configs in enumerate(parts):
            runs = [config.model_dump() for config in configs]
            write_whole(jobs / f"{number}.json", json.dumps(shared | {"runs": runs}) + "\n")
        os.environ["OMP_NUM_THREADS"] = "1"  # local processes inherit it
        self.config.hydra.sweep.dir = str(folder.absolute())
        launcher = Plugins.instance().instantiate_launcher(self.context, job, self.config)
        own = [f"hydra.sweep.dir={quote(folder.absolute())}", f"+job.folder={quote(jobs)}"]
        for done in launcher.launch([[*own, f"+job.number={number}"] for number in range(len(parts))], 0):
            done.return_value  # noqa: B018 - raises what the job did


def job(config: Any) -> None:
    """Run a job, wherever a launcher runs it: ``config.job`` names its batch."""
    given = json.loads(Path(config.job.folder, f"{config.job.number}.json").read_text())
    if given["path"] not in sys.path:
        sys.path.insert(0, given["path"])  # the user's own classes can be imported, as with python -m
    if given["parent"] == os.getppid():
        leave_with(given["parent"])
    configs = [config_of(run) for run in given["runs"]]
    sweep = Sweep(configs, Store(given["results"], given["save"], given["tag"]), keep=lambda record: None)
    sweep.prepare()
    tracker = tracker_of(given["tracker"], given["tag"])
    sweep.train(workers=1, device=given["device"], wait=False, tracker=tracker)


def split_batches(configs: Sequence[Config], batches: Batches, device: str = "cpu") -> list[list[Config]]:
    """Split ``configs`` into batches of about ``batches.minutes`` of work for one core each.

    Batches are longer if there would be more than ``batches.at_most``. The runs of an ensemble stay together.
    """
    plan = plan_ensembles(configs, 1, device)
    total = sum(map(seconds, plan)) / 60
    number = max(1, round(total / batches.minutes))
    at_most = count_cores() if batches.at_most == "cores" else batches.at_most
    number = min(number, len(plan), at_most or number)
    loads = [0.0] * number
    parts: list[list[Config]] = [[] for _ in range(number)]
    for ensemble in plan:  # the longest first, each to the batch with the least work
        least = loads.index(min(loads))
        loads[least] += seconds(ensemble)
        parts[least] += ensemble
    return [part for part in parts if part]
