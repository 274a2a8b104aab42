"""Sweeps in jobs of a Hydra launcher: joblib, submitit (SLURM) or Ray.

The sweep's process splits the missing runs into parts, writes each to a file, and gives the launcher one job for each.
A job trains its part as a sweep with one worker does. If it dies, the same sweep distributes what is missing again.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthlab.errors import InputError, format_error
from synthlab.runs.composition import quote
from synthlab.runs.run import config_of
from synthlab.storage.files import write_whole
from synthlab.storage.store import Store
from synthlab.sweeps.sweep import Sweep
from synthlab.sweeps.trackers import tracker_of
from synthlab.sweeps.workers import exit_with_parent
from synthlab.training.ensembles import plan_ensembles

if TYPE_CHECKING:
    from hydra.types import HydraContext
    from omegaconf import DictConfig


def launch(
    config: "DictConfig",
    context: "HydraContext",
    sweep: Sweep[Any],
    folder: Path,
    jobs: int,
    device: str,
    tracker: Mapping[str, Any],
) -> list[str]:
    """Train the missing runs of ``sweep`` in up to ``jobs`` jobs, and wait for them. Their files go below ``folder``.

    Returns a line on lost jobs, if there are any.
    """
    from hydra.core.plugins import Plugins

    name, root = config.hydra.runtime.choices["hydra/launcher"], sweep.store.files.path("")
    plan = plan_ensembles([*sweep.missing.values()], jobs, device)  # the longest first
    parts = [plan[first::jobs] for first in range(min(jobs, len(plan)))]
    shared = {
        "results": root if "://" in root else os.path.abspath(root),
        "save": sweep.store.save,
        "tag": sweep.store.tag,
        "device": device,
        "tracker": {key: os.path.abspath(value) if key == "folder" else value for key, value in tracker.items()},
        "path": os.getcwd(),
        "parent": os.getpid() if name == "joblib" else None,
    }
    folder = folder.absolute()
    for number, part in enumerate(parts):
        runs = [run.model_dump() for ensemble in part for run in ensemble]
        write_whole(folder / "jobs" / f"{number}.json", json.dumps(shared | {"runs": runs}) + "\n")
    os.environ["OMP_NUM_THREADS"] = "1"  # local processes inherit it
    config.hydra.sweep.dir = str(folder)
    launcher = Plugins.instance().instantiate_launcher(hydra_context=context, task_function=job, config=config)
    try:
        for done in launcher.launch([[f"hydra.sweep.dir={quote(folder)}"]] * len(parts), 0):
            done.return_value  # noqa: B018 - raises what the job did
    except InputError:
        raise
    except Exception as error:  # of the launcher, where a job is lost; the runs of other jobs are recorded
        return [f"failed: {name} ended early ({format_error(error)[:300]})"]
    return []


def job(_: "DictConfig") -> None:
    """Run a job, wherever a launcher runs it: Hydra's config has its number."""
    from hydra.core.hydra_config import HydraConfig

    hydra = HydraConfig.get()
    given = json.loads(Path(hydra.sweep.dir, "jobs", f"{hydra.job.num}.json").read_text())
    if given["path"] not in sys.path:
        sys.path.insert(0, given["path"])  # the user's own classes can be imported, as with python -m
    if given["parent"] == os.getppid():
        exit_with_parent(given["parent"])
    store = Store(given["results"], given["save"], given["tag"])
    sweep = Sweep(map(config_of, given["runs"]), store, keep=lambda record: None)
    sweep.prepare()
    sweep.train(device=given["device"], wait=False, tracker=tracker_of(given["tracker"], store.tag))
