"""A Hydra launcher that runs jobs as Ray tasks. The published one, hydra-ray-launcher, installs 55 more packages."""

from collections.abc import Sequence
from typing import Any

from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict

OWN = ("num_cpus", "object_store_memory")  # options of a Ray that is started here; a running cluster refuses them


class RayLauncher(Launcher):
    """Jobs as tasks of a Ray. ``init`` are arguments of ``ray.init``, ``remote`` those of ``ray.remote``."""

    def __init__(self, init: DictConfig, remote: DictConfig):
        self.init: Any = OmegaConf.to_container(init, resolve=True)
        self.remote: Any = OmegaConf.to_container(remote, resolve=True)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Store what Hydra passes before it launches."""
        self.context, self.task, self.config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run a job for each of ``job_overrides``. Raises Ray's error for a lost job, after the others have ended."""
        import ray

        is_own = self.init.get("address") == "local"
        ray.init(**{key: value for key, value in self.init.items() if is_own or key not in OWN})
        try:
            submit, tasks = ray.remote(**self.remote)(_run).remote, []
            for number, overrides in enumerate(job_overrides, initial_job_idx):
                config = self.context.config_loader.load_sweep_config(self.config, list(overrides))
                with open_dict(config):
                    config.hydra.job.id, config.hydra.job.num = str(number), number
                tasks.append(submit(self.context, config, self.task, Singleton.get_state()))
            ray.wait(tasks, num_returns=len(tasks))
            return ray.get(tasks)
        finally:
            ray.shutdown()


def _run(context: HydraContext, config: DictConfig, task: TaskFunction, state: Any) -> JobReturn:
    setup_globals()
    Singleton.set_state(state)
    return run_job(task, config, "hydra.sweep.dir", "hydra.sweep.subdir", context)
