"""The interface of a family of tasks: what the training loop, the store and sweeps need of it.

The class of its runs names it (``Run.load_family``), and has its measures. See ``synthlab.families`` for the list.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor, nn

from synthlab.models.laws import Law
from synthlab.runs.registry import Registry
from synthlab.training.loop import Training
from synthlab.training.trained import TrainedModel

Tables = tuple[pd.DataFrame, pd.DataFrame | None]
Evaluate = Callable[[nn.Module, Sequence[int], Sequence[Any]], Sequence[Tables]]


def tabulate(metrics: Mapping[str, np.ndarray]) -> list[pd.DataFrame]:
    """Return the table of each of M models from the values [M, L] of metrics at the lengths 1 to L."""
    models, longest = next(iter(metrics.values())).shape
    lengths = range(1, longest + 1)
    return [
        pd.DataFrame({"length": lengths, **{name: values[index] for name, values in metrics.items()}})
        for index in range(models)
    ]


def one_by_one(evaluate: Callable[[nn.Module, int, Any], Tables]) -> Evaluate:
    """Return ``Family.evaluate_models`` from a function that tests one model, given by its index and its config."""
    return lambda ensemble, indices, configs: list(map(partial(evaluate, ensemble), indices, configs))


@dataclass(frozen=True)
class Family:
    """Functions that build, train and test the runs of a family.

    Attributes:
        groups: The registry of each config group whose members are classes, by the group. ``task`` is one of them.
        complete: Returns a run with its defaults filled in. Raises InputError for one that could not be trained or
            tested; it builds no model.
        build_models: Initializes the models of runs of one shape as one ensemble: parameters have a leading dimension
            of models.
        make_objective: Of an ensemble, its configs and a device, returns a function that returns the losses [E] on the
            next batch, of the models' training or of their first training.
        train_models: Trains the models of an ensemble in place, given their configs, ``observe`` (an Observer or None)
            and a device; returns the training curve of each. ``observe`` is called at each point of the curve. At the
            points of ``Run.checkpoints`` it may inspect the ensemble, which then has the parameters of that step.
        evaluate_models: Returns, for each of some models of an ensemble, the metrics of ``Run.measures`` by test
            length (column ``length``); and a table of whatever else is recorded, or None. The models are given by their
            indices and configs, which differ in seeds and protocols only.
        open_model: Returns the trained model of the record of a finished run, or the model as it was after a step (see
            ``Record.model``).
        measure_laws: Yields the laws that the classes of a run keep: models, encodings, maps.
        find_chance: Returns the primary metric of a model that ignores its input, for each row of a record's metrics;
            None if that is unknown.
    """

    groups: Mapping[str, Registry[Any]]
    complete: Callable[[Any], Any]
    build_models: Callable[[Sequence[Any]], nn.Module]
    make_objective: Callable[..., Callable[[], Tensor]]
    train_models: Callable[..., list[Training]]
    evaluate_models: Evaluate
    open_model: Callable[..., TrainedModel]
    measure_laws: Callable[[Any], Iterator[Law]] = lambda config: iter(())
    find_chance: Callable[[Any, pd.DataFrame], Sequence[float] | None] = lambda config, metrics: None
