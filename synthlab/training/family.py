"""The interface of a family of tasks, as used by the training loop, the store and sweeps.

A family is a module, which its configs name as ``family_module``. Tables, plots and rankings use
``synthlab.metrics.Measures`` instead.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import pandas as pd
from torch import Tensor, nn

from synthlab.config.base import Config
from synthlab.config.registry import Registry
from synthlab.models.laws import Law
from synthlab.storage.records import Record
from synthlab.training.loop import Observer, Training
from synthlab.training.trained import TrainedModel

Run = TypeVar("Run", bound=Config, contravariant=True)


class Objective(Protocol):
    """A function that returns the loss of each model of an ensemble, [E], on the next batch."""

    def __call__(self) -> Tensor: ...


class Family(Protocol[Run]):
    """Functions that build, train and test the runs of a family, whose configs are ``Run``.

    A module can be a family.
    """

    @property
    def TASKS(self) -> Registry[Any]:
        """The tasks of the family, by name."""
        ...

    @property
    def KINDS(self) -> Mapping[str, Registry[Any]]:
        """The registry of each config group whose members are classes, by the group."""
        ...

    def measure_laws(self, config: Run) -> Iterator[Law]:
        """Yield the laws that the classes of a run keep: models, encodings, maps."""
        ...

    def resolve(self, raw: Mapping[str, Any]) -> Config:
        """Return the complete config of the run that ``raw`` describes, with defaults filled in.

        Raises InputError for a run that could not be trained or tested.
        """
        ...

    def build_models(self, configs: Sequence[Run]) -> nn.Module:
        """Initialize the models of runs of one shape as one ensemble: parameters have a leading dimension of models.

        Raises InputError for models that cannot form an ensemble.
        """
        ...

    def make_objective(self, ensemble: nn.Module, /, configs: Sequence[Run], device: str = "cpu") -> Objective:
        """Return the objective of the models' training, or of their first training."""
        ...

    def train_models(
        self, ensemble: nn.Module, /, configs: Sequence[Run], observe: Observer | None = None, device: str = "cpu"
    ) -> list[Training]:
        """Train freshly initialized models, in place; return the training curve of each.

        ``observe`` is called at each point of the curve. At the points of ``Config.checkpoints`` it may inspect
        ``ensemble``, which then has the parameters of that step.
        """
        ...

    def evaluate_model(
        self, ensemble: nn.Module, /, index: int, config: Run
    ) -> tuple[pd.DataFrame, pd.DataFrame | None]:
        """Evaluate the model ``index``.

        Returns:
            The metrics of ``Config.measures`` by test length (column ``length``); and a table of whatever else is
            recorded for runs of this family, or None.
        """
        ...

    def open_model(self, record: Record, step: int | None = None) -> TrainedModel:
        """Return the trained model of a finished run, or the model as it was after ``step``.

        Raises InputError (see ``Record.model``).
        """
        ...
