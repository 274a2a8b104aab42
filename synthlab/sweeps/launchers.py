"""A sweep in jobs of a Hydra launcher: joblib, submitit (SLURM) or Ray, each job a batch of runs.

The sweep's process cuts what is missing into batches, writes each to a file, and has Hydra launch one job for each. A
job reads its file and works as the sweep itself does, on one thread; what it finishes it records at once. So a job that
dies loses what it was training, and the same sweep again hands out what is missing then.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, PositiveFloat

from synthlab.config.base import Config, config_of
from synthlab.config.composition import composed, conf_dir, input_errors, quoted, searchpath_override
from synthlab.config.registry import STRICT, validated
from synthlab.errors import require
from synthlab.storage.files import write_whole
from synthlab.storage.store import Store
from synthlab.sweeps.sweep import Sweep
from synthlab.sweeps.trackers import tracker_of
from synthlab.sweeps.workers import leave_with
from synthlab.training.ensembles import plan_ensembles, seconds

# The launchers that conf/launcher sets up: the extra that installs each, and the module that shows whether it is there.
EXTRAS = {
    "joblib": ("sweep", "hydra_plugins.hydra_joblib_launcher"),
    "submitit_local": ("slurm", "hydra_plugins.hydra_submitit_launcher"),
    "submitit_slurm": ("slurm", "hydra_plugins.hydra_submitit_launcher"),
    "ray": ("ray", "ray"),
}
CHOICES = ("hydra/launcher=", "launcher=")  # the second is the group of our own that holds the settings


class Batches(BaseModel):
    """How a sweep is cut into jobs; described in ``conf/launcher/local.yaml``."""

    model_config = STRICT
    minutes: PositiveFloat
    at_most: Annotated[int, Field(gt=0)] | Literal["cores"] | None


class Launcher:
    """The launcher that a command line names by ``hydra/launcher=NAME``; without that, the sweep's own workers.

    ``given`` are all overrides of that command line that set Hydra's keys. The names of ``conf/launcher`` stand for a
    launcher with the settings found there; any other of Hydra's can be named too. Raises InputError for one that is
    unknown or not installed.
    """

    def __init__(self, given: list[str], searchpath: list[str] | None = None):
        from omegaconf import OmegaConf

        named = [word for word in given if word.startswith(CHOICES)]
        self.name, self.given = named[-1].partition("=")[2] if named else "local", given
        if self.name in ("local", "basic") and len(given) == len(named):
            return  # the usual case, without composing anything
        extra, module = EXTRAS.get(self.name, (None, None))
        if extra and module:
            require(extra, module, what=named[-1])
        if extra:
            self.given = [*(word for word in given if word not in named), f"launcher={self.name}"]
        self.given = [*self.given, *searchpath_override(searchpath)]
        with input_errors(given):
            config = composed(self.given, return_hydra_config=True)
            self.batches = checked_batches(OmegaConf.to_container(config.batches, resolve=True))

    @property
    def is_basic(self) -> bool:
        """Whether it is Hydra's own, which has no workers: then the sweep trains by itself."""
        return self.name in ("local", "basic")

    def launch(self, sweep: Sweep, folder: Path, device: str, tracker: dict[str, Any]) -> None:
        """Train what is missing of ``sweep`` in jobs, and wait for them. Their files go below ``folder``.

        Raises InputError for a store that jobs cannot see, and whatever the launcher does where a job is lost.
        """
        import hydra

        sweep.store.check_shared()
        parts = batched(sweep.missing(), self.batches, device)
        jobs = folder.absolute() / "jobs"
        jobs.mkdir(parents=True, exist_ok=True)
        root = sweep.store.files.path("")
        shared = {
            "results": root if "://" in root else os.path.abspath(root),
            "device": device,
            "tracker": {key: os.path.abspath(value) if key == "folder" else value for key, value in tracker.items()},
            "path": os.getcwd(),
            "parent": os.getpid() if self.name == "joblib" else None,
        }
        for number, configs in enumerate(parts):
            runs = [config.model_dump() for config in configs]
            write_whole(jobs / f"{number}.json", json.dumps(shared | {"runs": runs}) + "\n")
        own = [f"hydra.sweep.dir={quoted(folder.absolute())}", f"+job.folder={quoted(jobs)}"]
        os.environ["OMP_NUM_THREADS"] = "1"  # processes of this machine inherit it
        words, sys.argv = sys.argv, [sys.argv[0], "-m", *self.given, *own, f"+job.number=range({len(parts)})"]
        try:
            hydra.main(config_path=str(conf_dir()), config_name="config", version_base="1.3")(job)()
        finally:
            sys.argv = words


def job(config: Any) -> None:
    """What a job does, wherever a launcher runs it: ``config.job`` names its batch."""
    given = json.loads(Path(config.job.folder, f"{config.job.number}.json").read_text())
    if given["path"] not in sys.path:
        sys.path.insert(0, given["path"])  # a user's own classes, as with python -m
    if given["parent"] == os.getppid():
        leave_with(given["parent"])
    configs = [config_of(run) for run in given["runs"]]
    sweep = Sweep(configs, Store(given["results"]), keep=lambda record: None)
    sweep.prepare()
    sweep.train(workers=1, device=given["device"], wait=False, tracker=tracker_of(given["tracker"]))


def batched(configs: Sequence[Config], batches: Batches, device: str = "cpu") -> list[list[Config]]:
    """``configs`` in batches of about ``batches.minutes`` of work for one core each, or of more where they would be
    more than ``batches.at_most``; the runs of a stack stay together."""
    plan = plan_ensembles(configs, 1, device)
    total = sum(map(seconds, plan)) / 60
    number = max(1, round(total / batches.minutes))
    at_most = (os.cpu_count() or 1) if batches.at_most == "cores" else batches.at_most
    number = min(number, len(plan), at_most or number)
    loads = [0.0] * number
    parts: list[list[Config]] = [[] for _ in range(number)]
    for stack in plan:  # the longest first, each to whoever has least
        least = loads.index(min(loads))
        loads[least] += seconds(stack)
        parts[least] += stack
    return [part for part in parts if part]


def checked_batches(given: Any) -> Batches:
    """The settings of ``batches``. Raises InputError."""
    return validated(Batches, given, "batches")
