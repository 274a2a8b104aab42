"""The lab's sweeper for Hydra: every combination of a command line, checked before the first is trained."""

from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class GridSweeper(Sweeper):
    """Unlike Hydra's basic sweeper, it knows runs: recorded ones are skipped, and those of one shape train together."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Store what Hydra passes before the sweep."""
        self.context, self.config = hydra_context, config
        self.task: Any = task_function

    def sweep(self, arguments: list[str]) -> Any:
        """Return Hydra's config and context to ``synthlab.cli.hydra_app``, which trains the combinations."""
        self.task(self.config, self.context)


ConfigStore.instance().store("synthlab", {"_target_": f"{__name__}.GridSweeper"}, group="hydra/sweeper")
