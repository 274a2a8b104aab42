"""The family of regression tasks: building, training and testing their models (see ``training.family.Family``)."""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache

import pandas as pd
import torch
from torch import Tensor, nn

from synthlab.config.sources import is_own
from synthlab.models.layers import Member
from synthlab.models.linear_attention import LinearAttention
from synthlab.regression.baseline import constant_loss
from synthlab.regression.choosing import score_candidates
from synthlab.regression.config import RunConfig
from synthlab.regression.construction import KINDS, build_models, map_of, measure_laws, module_of, resolve
from synthlab.regression.evaluation import evaluate_lengths, measure_loss
from synthlab.regression.inputs import INPUTS
from synthlab.regression.learning import MapTrace, find_learned
from synthlab.regression.objective import Examples, PrefixRegression, length_weights
from synthlab.regression.outrep import Chosen
from synthlab.regression.tasks import TASKS
from synthlab.regression.trained import TrainedRegression
from synthlab.storage.records import Record
from synthlab.training.loop import Observer, Training, train_ensemble
from synthlab.training.stopping import find_stopped_step, train_until_fit

__all__ = [
    "KINDS",
    "TASKS",
    "build_models",
    "evaluate_model",
    "make_objective",
    "measure_laws",
    "open_model",
    "resolve",
    "train_models",
]


def make_objective(ensemble: nn.Module, configs: Sequence[RunConfig], device: str = "cpu") -> PrefixRegression:
    """Return the objective: the weighted squared error of each model of ``ensemble``, on the tasks of ``configs``."""
    learned = find_learned(ensemble)
    examples = [
        Examples(
            TASKS.build(config.task),
            INPUTS.build(config.inputs),
            None if learned else map_of(ensemble, index, config),
            batch=config.protocol.batch,
            weights=length_weights(config.length_distribution, config.train_length),
            seed=config.data_seed,
            # A map of the ensemble's differs between its models.
            key=json.dumps([config.task, config.outrep, index * (module_of(ensemble) is not None)], sort_keys=True),
            is_own=any(is_own(each["name"]) for each in (config.task, config.outrep)),
        )
        for index, config in enumerate(configs)
    ]
    return PrefixRegression(ensemble, examples, device, learned, _plan_weights(configs))


def _plan_weights(configs: Sequence[RunConfig]) -> Callable[[int], Tensor] | None:
    """Return a function from the step (from 0) to the weights [E, L] of the training lengths.

    Return None without curriculum.
    """
    first = configs[0]
    if first.curriculum is None:
        return None
    find_longest = first.curriculum.find_longest

    @lru_cache(maxsize=1)  # many consecutive steps have the same weights
    def weights_up_to(longest: int) -> Tensor:
        return torch.stack([length_weights(each.length_distribution, each.train_length, longest) for each in configs])

    return lambda step: weights_up_to(find_longest(step, first.protocol.steps, first.train_length))


def train_models(
    ensemble: nn.Module, configs: Sequence[RunConfig], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train initialized models of runs of one shape; return their training curves, with what is learned of the map.

    If the configs say so, each model trains with a map that it chooses, and until it fits.
    """
    outrep = module_of(ensemble)
    if isinstance(outrep, Chosen):
        outrep.scores.data = score_candidates(configs, device).to(outrep.scores)
    objective, stop = make_objective(ensemble, configs, device), configs[0].stop
    trace = MapTrace(find_learned(ensemble), observe)
    if stop is None or stop.loss is None:
        trainings = train_ensemble(ensemble.parameters(), objective, [config.protocol for config in configs], trace)
    else:
        levels = [stop.loss * constant_loss(config) for config in configs]

        def fits(index: int) -> bool:
            outrep = map_of(ensemble, index, configs[index])
            return measure_loss(Member(ensemble, index), configs[index], outrep, stop.sequences) <= levels[index]

        trainings = train_until_fit(ensemble, configs, objective, stop.every, fits, trace)
    return [trace.add_to(training, index) for index, training in enumerate(trainings)]


def evaluate_model(ensemble: nn.Module, index: int, config: RunConfig) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Return every metric at every length for the model ``index``, and a table or None.

    The table is for ``LinearAttention`` its output matrix M (2 x 2, with BOS 2 x 3), for a chosen map the score of each
    candidate.
    """
    member, how = Member(ensemble, index), config.evaluation.model_dump()
    parts = TASKS.build(config.task), INPUTS.build(config.inputs), map_of(ensemble, index, config)
    metrics = evaluate_lengths(member, *parts, config.test_length, **how, seed=config.test_seed)
    table = pd.DataFrame({"length": range(1, config.test_length + 1), **metrics})
    outrep = module_of(ensemble)
    if isinstance(ensemble, LinearAttention):
        outputs = ensemble.outputs()[index].detach().double().cpu().numpy()
        return table, pd.DataFrame(outputs, columns=["zero", "one", "bos"][: outputs.shape[1]])
    if isinstance(outrep, Chosen):
        return table, pd.DataFrame([outrep.scores[index].tolist()], columns=outrep.names)
    return table, None


def open_model(record: Record, step: int | None = None) -> TrainedRegression:
    """Return the trained model of a run, or the model as it was after ``step``, or when it stopped before."""
    return TrainedRegression(record, find_stopped_step(record, step))
