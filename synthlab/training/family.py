"""What a family of tasks is: all that the training loop, the store and sweeps know of one.

A family is a folder: its configs (a subclass of ``synthlab.config.base.Config``, whose ``family`` names the module),
and a module with what stands here.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import pandas as pd
from torch import Tensor, nn

from synthlab.config.base import Config
from synthlab.training.loop import Observer, Training

Run = TypeVar("Run", bound=Config, contravariant=True)


class Objective(Protocol):
    """The losses of an ensemble's models on the next batch, one for each."""

    def __call__(self) -> Tensor: ...


class Family(Protocol[Run]):
    """How the runs of a family, whose configs are ``Run``, are built, trained and tested. Modules are families, too."""

    @property
    def METRICS(self) -> Mapping[str, str]:
        """What is recorded for each test length, and what it means."""
        ...

    def build_models(self, configs: Sequence[Run]) -> nn.Module:
        """The freshly initialized models of runs of one shape, as one ensemble: every parameter has a leading dimension
        of models. Raises InputError for models that cannot be part of one."""
        ...

    def make_objective(self, ensemble: nn.Module, /, configs: Sequence[Run], device: str = "cpu") -> Objective:
        """What the models minimize, or minimize first."""
        ...

    def train_models(
        self, ensemble: nn.Module, /, configs: Sequence[Run], observe: Observer | None = None, device: str = "cpu"
    ) -> list[Training]:
        """Train freshly built models; returns how each one's training went. ``observe`` is called at each point of the
        training curve, and may look at ``ensemble``, which is as far as its training then is."""
        ...

    def evaluate_model(
        self, ensemble: nn.Module, /, index: int, config: Run
    ) -> tuple[pd.DataFrame, pd.DataFrame | None]:
        """``METRICS`` by test length (column ``length``) for the model ``index``; and a table of what else is
        recorded of such runs, or None."""
        ...
