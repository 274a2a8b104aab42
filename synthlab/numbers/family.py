"""The family of number tasks: its runs are completed, built and trained here (see ``training.family.Family``)."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from synthlab.errors import InputError
from synthlab.models.building import build_encoding, build_ensemble
from synthlab.models.encodings import ENCODINGS
from synthlab.models.laws import Law, check_laws, measure_model
from synthlab.models.layers import Member
from synthlab.models.linear_attention import LinearAttention
from synthlab.models.packing import ENDS
from synthlab.models.transformer import Reference, Transformer
from synthlab.numbers.evaluation import constant_loss, data, evaluate_models, find_chance, measure_loss
from synthlab.numbers.objective import PrefixRegression
from synthlab.numbers.outrep import OUTREPS, Chosen, OutRep, OutRepModule, build_map, map_of
from synthlab.numbers.run import NumbersRun
from synthlab.numbers.tasks import INPUTS, TASKS
from synthlab.numbers.trained import TrainedNumbers
from synthlab.rng import stream
from synthlab.runs.registry import Registry, complete_members
from synthlab.runs.run import SEED_LIMIT, resolve
from synthlab.storage.records import Record
from synthlab.training.ensembles import plan_ensembles
from synthlab.training.execution import execute_together, split_inexact
from synthlab.training.family import Family
from synthlab.training.loop import Observer, Training, train_ensemble
from synthlab.training.stopping import train_until_fit

SYMBOLS = 2  # 0 and 1
PROBE_SEQUENCES = 64  # sequences whose targets a map must invert
TARGET_RESOLUTION = 1e-4  # of the targets' range: targets that single precision tells apart
DIVERGED_SCORE = 1e30  # the score of a candidate that diverged
MODELS = Registry(
    "model",
    nn.Module,
    {"transformer": Transformer, "reference": Reference, "linear": LinearAttention},
)
GROUPS: dict[str, Registry[Any]] = {
    registry.group: registry for registry in (TASKS, INPUTS, ENCODINGS, OUTREPS, MODELS)
}


def complete(config: NumbersRun) -> NumbersRun:
    """Return the run with its defaults filled in. Raises InputError for one that could not be trained or tested.

    Its task, map and encoding are built, and no model. A class of the user is measured by the laws that it must keep.
    """
    members = complete_members(GROUPS, {name: getattr(config, name) for name in GROUPS})
    name, task = config.outrep["name"], TASKS.build(config.task)
    if "shift" not in members["outrep"]:
        raise InputError(f"outrep={name}: its constructor must take a shift; see docs/extending.md")
    smallest, largest = task.span(1)[0], task.span(config.train_length)[1]
    members["outrep"] = OUTREPS.build(config.outrep).complete(members["outrep"], smallest, largest)
    config = config.model_copy(update=members)
    encoding = build_encoding(MODELS, config)
    available = math.inf if encoding is None else encoding.longest()
    lines = [
        f"{field}={getattr(config, field)}: encoding={config.encoding['name']} has {available} positions, BOS and EOS "
        f"included, enough for lengths up to {available - ENDS}"
        for field in ("train_length", "test_length")
        if getattr(config, field) + ENDS > available
    ]
    low, high = task.span(max(config.train_length, config.test_length))
    outrep = OUTREPS.build(config.outrep)
    shift, domain = outrep.shift, outrep.domain
    if not domain.contains(torch.tensor([low + shift, high + shift])).all():
        lines.append(
            f"outrep.shift={shift:g}: takes the targets of task={config.task['name']} to [{low + shift:g}, "
            f"{high + shift:g}], which leaves the domain {domain} of outrep={name}; null chooses a shift that fits"
        )
    if config.evaluation.largest < high:
        largest = config.evaluation.largest
        lines.append(f"evaluation.largest={largest:g}: must be at least the largest target {high:g}")
    if lines:
        raise InputError(*lines)
    check_laws(config, lambda: measure_laws(config))
    if isinstance(outrep, Chosen):
        candidate_runs(config)
    return config


def measure_laws(config: NumbersRun) -> Iterator[Law]:
    """Yield the laws that the encoding, the model and the map of a run keep, as ``models.laws`` measures them."""
    yield from measure_model(build_models([config]), SYMBOLS)
    length = max(config.train_length, config.test_length)
    x = torch.randint(SYMBOLS, (PROBE_SEQUENCES, length), generator=torch.Generator().manual_seed(0))
    task, _, outrep = data(config)
    ends = torch.tensor(task.span(length))
    yield from measure_map(outrep, torch.cat((ends, task.targets(x).flatten())))


def measure_map(outrep: OutRep, targets: Float[Tensor, " N"]) -> Iterator[Law]:
    """Yield the laws of a map, measured in double precision on ``targets``, in their own units and in any order.

    Values that are no numbers miss a law entirely.
    """
    y = targets.double().unique()  # sorted
    if len(y) > 1:  # targets that single precision tells apart, in which a map may compute
        y = y[torch.cat((y[:1] < y[1:2], y.diff() > TARGET_RESOLUTION * (y[-1] - y[0])))]
    with torch.no_grad():
        z = outrep.forward(y)
        missed_by = (outrep.inverse(z) - y).abs() / y.abs().clamp(min=1.0)
        steps = z.diff() if outrep.increasing else -z.diff()
    way = "increases" if outrep.increasing else "decreases"
    laws = {
        "the inverse of f(y) is y, for the task's targets y": missed_by,
        f"f {way} strictly over the task's targets": (steps <= 0).double(),
        "f(y) lies in the image, for the task's targets y": (~outrep.image.contains(z)).double(),
    }
    for says, missed in laws.items():
        worst = missed.nan_to_num(nan=1.0, posinf=1.0).max() if len(missed) else 0.0
        yield Law("outrep", says, float(worst))


def build_models(configs: Sequence[NumbersRun]) -> nn.Module:
    """Initialize the models of runs of one shape as one ensemble, with the output map if that has parameters.

    Raises InputError for models that cannot form an ensemble.
    """
    ensemble = build_ensemble(MODELS, configs, [stream(config.weight_seed, "initial") for config in configs])
    outrep = build_map(configs)
    if isinstance(outrep, OutRepModule):
        ensemble.outrep = outrep
    return ensemble


def train_models(
    ensemble: nn.Module, configs: Sequence[NumbersRun], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train initialized models of runs of one shape; return their training curves, with what is learned of the map.

    If the configs say so, each model trains with a map that it chooses, and until it fits.
    """
    outrep = getattr(ensemble, "outrep", None)
    if isinstance(outrep, Chosen):
        outrep.scores.data = score_candidates(configs, device).to(outrep.scores)
    objective, stop = PrefixRegression(ensemble, configs, device), configs[0].stop
    points = list[dict[str, list[float]]]()  # the parameters of a learned map at each point of the curve

    def watch(step: int, losses: list[float]) -> None:
        if objective.learned is not None:
            points.append({name: values.tolist() for name, values in objective.learned.learned().items()})
        if observe is not None:
            observe(step, losses)

    if stop is None or stop.loss is None:
        trainings = train_ensemble(ensemble.parameters(), objective, [each.protocol for each in configs], watch)
    else:
        levels = [stop.loss * constant_loss(config) for config in configs]

        def fits(index: int) -> bool:
            outrep = map_of(ensemble, index, configs[index])
            return measure_loss(Member(ensemble, index), configs[index], outrep, stop.sequences) <= levels[index]

        trainings = train_until_fit(ensemble, configs, objective, stop.every, fits, watch)
    for index, training in enumerate(trainings):
        seen = points[: len(training.steps)]
        learned = {name: [point[name][index] for point in seen] for name in seen[0]} if seen else {}
        trainings[index] = training._replace(learned=learned)
    return trainings


def candidate_runs(config: NumbersRun) -> list[NumbersRun]:
    """Return the run of each candidate: trained on the lengths that are not held out, tested on those that are.

    Its test sequences have a seed far from those of tests, so tests play no part in the choice. Raises InputError if no
    length is left, and for a candidate that could not be trained.
    """
    held_out = max(1, round(config.outrep["held_out"] * config.train_length))
    shorter = config.train_length - held_out
    if shorter < 1:
        raise InputError(
            f"train_length={config.train_length}: leaves no length to train on where outrep=chosen holds out "
            f"{held_out}; lower outrep.held_out"
        )
    own = {
        "train_length": shorter,
        "test_length": config.train_length,
        "test_seed": SEED_LIMIT - 1 - config.data_seed,
    }
    shared = config.model_dump() | own
    return [cast(NumbersRun, resolve(shared | {"outrep": each})) for each in config.outrep["candidates"]]


def score_candidates(configs: Sequence[NumbersRun], device: str = "cpu") -> Float[Tensor, "E C"]:
    """Train a model for each candidate of each run on the shorter training lengths; return the scores."""
    runs = [candidate_runs(config) for config in configs]
    planned = plan_ensembles([run for each in runs for run in each], 1, device)
    parts = [part for ensemble in planned for part in split_inexact(ensemble, device)]
    records = {record.config.id: record for part in parts for record in execute_together(part, device=device)}
    return torch.tensor([[score(records[run.id]) for run in each] for each in runs])


def score(record: Record) -> float:
    """Return the relative error, averaged over the lengths beyond training."""
    beyond = record.metrics.loc[record.metrics["length"] > record.config.train_length, "relative_error"]
    return DIVERGED_SCORE if record.diverged_at is not None else min(float(beyond.mean()), DIVERGED_SCORE)


NUMBERS = Family(
    groups=GROUPS,
    complete=complete,
    build_models=build_models,
    make_objective=PrefixRegression,
    train_models=train_models,
    evaluate_models=evaluate_models,
    open_model=TrainedNumbers,
    measure_laws=measure_laws,
    find_chance=find_chance,
)
