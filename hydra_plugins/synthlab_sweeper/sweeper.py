"""The lab's sweeper for Hydra: every combination of a command line, checked before the first is trained."""

from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class GridSweeper(Sweeper):
    """The sweeper that Hydra calls for ``-m``.

    Unlike Hydra's basic sweeper, it knows runs: recorded ones are skipped, and those of one shape train together.
    """

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Store what Hydra passes before the sweep. The task function trains one run, and is not needed."""
        self.context, self.config = hydra_context, config

    def sweep(self, arguments: list[str]) -> None:
        """Train the combinations of the command line's overrides; ``arguments`` are those that Hydra has applied.

        Raises InputError and RunsFailed.
        """
        from synthlab.cli.hydra_app import of_runs, pause_garbage_collection, typed

        with pause_garbage_collection():
            from synthlab.sweeps.command import sweep
        sweep([*of_runs, *arguments], self.config, self.context, ["synthlab", *typed])
