"""The lab's sweeper of Hydra: every combination that a command line stands for, checked before the first is trained."""

from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class GridSweeper(Sweeper):
    """What Hydra calls for ``-m``. Unlike its basic sweeper, it knows what a run is: one that is recorded is left out,
    and those of one shape train together."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """What Hydra says before the sweep. The task function trains one run, and is not needed."""
        self.context, self.config = hydra_context, config

    def sweep(self, arguments: list[str]) -> None:
        """Train what the overrides of the command line stand for; ``arguments`` are those that Hydra has applied.
        Raises InputError and RunsFailed."""
        from synthlab.cli.hydra_app import of_runs, pause_garbage_collection, typed

        with pause_garbage_collection():
            from synthlab.sweeps.command import sweep
        sweep([*of_runs, *arguments], self.config, self.context, ["synthlab", *typed])
