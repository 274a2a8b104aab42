"""The family of languages: its runs are completed, trained and tested here (see ``training.family.Family``)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from synthlab.errors import InputError
from synthlab.finetuning.patterns import PATTERNS
from synthlab.language.construction import GROUPS, build_adapters, build_extension, build_models
from synthlab.language.evaluation import by_context, double_window, score_facts, suffixes, temperatures_within
from synthlab.language.languages import TASKS
from synthlab.language.languages.source import LanguageTask
from synthlab.language.objective import WindowLoss, random_positions
from synthlab.language.pretraining import pretrain
from synthlab.language.run import IDLE, LanguageRun
from synthlab.language.trained import TrainedLanguage
from synthlab.longshort.windows import both_contexts, min_context
from synthlab.models.building import build_encoding
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Encoding, encoding_of
from synthlab.models.encodings.length_rope import LengthRoPE
from synthlab.models.encodings.rope import RoPE
from synthlab.models.language_model import MODELS, takes_shortcuts
from synthlab.models.laws import Law, check_laws, measure_model
from synthlab.models.layers import Members
from synthlab.positions.samplers import SAMPLERS
from synthlab.rng import stream
from synthlab.runs.registry import complete_members
from synthlab.training.family import Family
from synthlab.training.loop import Observer, Training, train_ensemble

LONGEST = 20_000  # the most tokens of a text for recall


def complete(config: LanguageRun) -> LanguageRun:
    """Return the run with its defaults filled in. Raises InputError for one that could not be trained or tested.

    Its language, encodings and sampler are built, and no model. A class of the user is measured by the laws that it
    must keep.
    """
    parts = {"task": config.task, "encoding": config.encoding, "model": config.model}
    if config.extension is not None and config.extension.get("name") != "none":
        trained = ENCODINGS.find(config.encoding.get("name"))
        if not issubclass(trained, RoPE):
            raise InputError(f"encoding={config.encoding['name']}: an extension replaces rope; choose encoding=rope")
        # Defaults of the extension, from the model that it extends.
        known = {
            "trained": config.train_length,
            "base": config.encoding.get("base"),
            "factor": math.ceil(config.test_length / config.train_length),
        }
        parts["extension"] = _fill(config.extension, known)
    for field, before in IDLE.items():
        member = getattr(config, field)
        if member is not None and member.get("name") != before:
            parts[field] = member
    if "positions" in parts:
        parts["positions"] = _fill(parts["positions"], {"factor": math.ceil(config.test_length / _window(config))})
    members = complete_members(GROUPS, parts)
    language = TASKS.build(members["task"])
    members["task"] = {**members["task"], **language.complete_arguments()}
    config = config.model_copy(update=dict.fromkeys(["extension", *IDLE]) | members)
    _check_alignment(config)
    for field in ("extension", "pattern", "lora"):
        if field in members and config.model["name"] != "transformer":
            needs = f"needs model=transformer, not {config.model['name']}"
            raise InputError(f"{field}={members[field]['name']}: {needs}")
    encodings: dict[str, Encoding] = {}
    encoding = build_encoding(MODELS, config)
    if encoding is not None:
        encodings["encoding"] = encoding
    if config.extension is not None:
        encodings["extension"] = build_extension([config])
    _check_positions(config, encodings)
    _check_encodings(config, encodings)
    if config.pattern is not None:
        PATTERNS.build(config.pattern).mask(config.model["heads"], _window(config))
    _check_adapters(config, language)
    _check_texts(config, language)
    check_laws(config, lambda: measure_laws(config))
    return config


def measure_laws(config: LanguageRun) -> Iterator[Law]:
    """Yield the laws that the encoding, its extension and the model of a run keep, as ``models.laws`` measures them."""
    ensemble, symbols = build_models([config]), TASKS.build(config.task).vocabulary
    yield from measure_model(ensemble, symbols)
    if config.extension is not None:
        ensemble.encoding = build_extension([config])
        yield from measure_model(ensemble, symbols, "extension")


def _fill(member: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``member`` with the values of ``known`` in place of null."""
    unset = {key for key, value in member.items() if value is None}
    return {**member} | {key: known[key] for key in unset & known.keys()}


def _window(config: LanguageRun) -> int:
    """Return the number of tokens of a window of the last training."""
    return (config.finetune.steps and config.finetune.length) or config.train_length


def _check_alignment(config: LanguageRun) -> None:
    alignment = config.alignment
    if alignment.windows == 1:
        if alignment.alpha:
            raise InputError(f"alignment.windows=1: alignment.alpha={alignment.alpha:g} compares two; give 2")
        return
    if alignment.low > alignment.high:
        raise InputError(f"alignment.low={alignment.low:g}: must be at most alignment.high={alignment.high:g}")
    for length in {config.train_length, config.finetune.length or config.train_length}:
        minimal, maximal = config.offsets(length)
        if minimal > maximal:
            raise InputError(
                f"alignment.low={alignment.low:g}: no whole number of tokens lies between it and "
                f"alignment.high={alignment.high:g} of windows of {length}; widen the range"
            )
        try:
            both_contexts(length, maximal, config.context(length))
        except InputError as error:
            raise InputError(
                f"alignment.high={alignment.high:g}: an offset of {maximal} tokens leaves windows of {length} nothing "
                f"in common after {config.context(length)}; lower it, or alignment.context={alignment.context:g}"
            ) from error


def _check_encodings(config: LanguageRun, encodings: Mapping[str, Encoding]) -> None:
    """Raise InputError for texts beyond an encoding's positions, and extensions that cannot replace the encoding."""
    recall_lengths = [round(multiple * config.train_length) for multiple in config.evaluation.lengths]
    longest = max(config.test_length, config.train_length, config.finetune.length or 0, *recall_lengths)
    # Both windows of a text share one draw of random positions, for all tokens that they cover.
    length, offset = config.train_length, config.offsets(config.train_length)[1]
    covered = length + max(length - min_context(length, 0.5), offset * (config.alignment.windows - 1))
    for field, encoding in encodings.items():
        name = getattr(config, field)["name"]
        positions = encoding.longest()
        needed = max(longest, covered) if encoding.draws_positions else longest
        if positions < needed:
            raise InputError(
                f"{field}={name}: has {positions} positions; texts of {needed} tokens need as many (test_length, and "
                f"evaluation.lengths times train_length; where positions are drawn, two windows of a text)"
            )
        if field == "encoding" and config.extension is not None and any(True for _ in encoding.parameters()):
            raise InputError(f"encoding={name}: has weights, which an extension would replace; choose rope")
        if field == "extension" and not isinstance(encoding, RoPE):
            raise InputError(f"extension={name}: must be a variant of rope")
    if config.extension is None and config.finetune.steps:
        raise InputError(
            f"finetune.steps={config.finetune.steps}: needs an extension; choose one, or extension=rope for a plain "
            f"second training"
        )
    if config.extension is not None and config.finetune.steps:
        _check_weights(config, config.extension, encodings["extension"])


def _check_weights(config: LanguageRun, extension: Mapping[str, Any], encoding: Encoding) -> None:
    """Raise InputError for a second training that would not train the weights of an extension."""
    window = _window(config)
    reach = window if config.positions is None else SAMPLERS.build(config.positions).reach(window)
    # Within the length of the first training, such an extension is plain RoPE, whatever its weights.
    if not isinstance(encoding, LengthRoPE) or not any(weights.numel() for weights in encoding.parameters()):
        return
    alike = encoding.alike_up_to(1)
    if alike == math.inf:
        raise InputError(f"extension.factor={extension['factor']}: must be 2 or more in a second training")
    if reach <= alike:
        raise InputError(
            f"extension={extension['name']}: has weights that only training beyond {alike} tokens affects; choose "
            f"positions that reach farther, as positions=clex, or a larger finetune.length"
        )


def _check_positions(config: LanguageRun, encodings: Mapping[str, Encoding]) -> None:
    """Raise InputError for a sampler with an encoding that draws positions, or beyond the encoding's positions."""
    if config.positions is None or not encodings:
        return
    (field, encoding), name = list(encodings.items())[-1], config.positions["name"]
    if encoding.draws_positions:
        raise InputError(f"positions={name}: {field}={getattr(config, field)['name']} draws positions itself")
    sampler = SAMPLERS.build(config.positions)
    if sampler.text_length(_window(config)) is not None and config.alignment.windows == 2:
        raise InputError(f"positions={name}: gathers a window from a text; alignment.windows=2 compares two; give 1")
    reach = sampler.reach(_window(config))
    if encoding.longest() < reach:
        raise InputError(
            f"positions={name}: gives positions up to {reach - 1}; {field}={getattr(config, field)['name']} has "
            f"{encoding.longest()}"
        )


def _check_adapters(config: LanguageRun, language: LanguageTask) -> None:
    """Raise InputError for adapters without a second training, and for a rank above that of a weight they adapt."""
    if config.lora is None:
        return
    if not config.finetune.steps:
        raise InputError(f"lora={config.lora['name']}: applies only to a second training; set finetune.steps")
    width, layers = config.model["width"], config.lora["layers"]
    hidden = max(1, round(config.model["mlp_ratio"] * width))
    sides = [width, *[hidden] * ("mlp" in layers), *[language.vocabulary] * ("head" in layers)]
    if config.lora["rank"] > min(sides):
        must = f"must be at most {min(sides)}, the rank of a weight that it adapts"
        raise InputError(f"lora.rank={config.lora['rank']}: {must}")


def _check_texts(config: LanguageRun, language: LanguageTask) -> None:
    """Raise InputError for texts that the language cannot supply, and texts for recall that are too long."""
    longest = round(max(config.evaluation.lengths) * config.train_length)
    if longest > LONGEST:
        raise InputError(f"evaluation.lengths={config.evaluation.lengths}: ask for {longest} tokens; at most {LONGEST}")
    window = max(config.train_length, config.finetune.length or 0)
    gathered = None if config.positions is None else SAMPLERS.build(config.positions).text_length(_window(config))
    trained = max(config.alignment.windows * window, gathered or 0)
    tested = max(config.test_length + 1, 2 * config.train_length)
    for length, held_out in ((trained, False), (tested, True)):
        language.draw(1, length, stream(0, "training"), held_out=held_out)


def make_objective(ensemble: nn.Module, configs: Sequence[LanguageRun], device: str = "cpu") -> WindowLoss:
    """Return the objective of the first training.

    The last training has the regularizer and the sampler of positions, so the first has them only if there is no
    second.
    """
    return WindowLoss(ensemble, configs, configs[0].train_length, last=not configs[0].finetune.steps, device=device)


def train_models(
    ensemble: nn.Module, configs: Sequence[LanguageRun], observe: Observer | None = None, device: str = "cpu"
) -> list[Training]:
    """Train initialized models, replace their encoding by the extension, and fine-tune them if the configs say so.

    Returns their training curves.
    """
    first = configs[0]
    if first.extension is None:
        protocols = [config.protocol for config in configs]
        return train_ensemble(ensemble.parameters(), make_objective(ensemble, configs, device), protocols, observe)
    trainings = pretrain(ensemble, configs, make_objective, observe, device)
    ensemble.encoding = build_extension(configs).to(device)
    if not first.finetune.steps or all(each.diverged_at is not None for each in trainings):
        return trainings
    length = first.finetune.length or first.train_length
    adapted = build_adapters(ensemble, configs)
    objective = WindowLoss(ensemble, configs, length, phase="_again", device=device, adapted=adapted)
    trained = ensemble if adapted is None else adapted

    def later(step: int, losses: list[float]) -> None:  # steps count from the start of the first training
        if adapted is not None:
            adapted.merge()
        if observe is not None:
            observe(first.protocol.steps + step, losses)

    again = train_ensemble(trained.parameters(), objective, [config.finetuned for config in configs], later)
    if adapted is not None:
        adapted.merge()
    return [_join_curves(*pair, first.protocol.steps) for pair in zip(trainings, again, strict=True)]


@torch.no_grad()
def evaluate_models(
    ensemble: nn.Module, indices: Sequence[int], configs: Sequence[LanguageRun]
) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Return losses at every context length; and a table of one row.

    The row has the fitted temperature, misalignment, and recall.
    """
    encoding, members = encoding_of(ensemble), Members(ensemble, indices)
    draws, places = encoding.draws_positions, [stream(each.test_seed, "evaluation_positions") for each in configs]

    def draw(tokens: Tensor) -> Tensor:
        return torch.stack([random_positions(encoding, *each) for each in zip(tokens, places, strict=True)])

    def models(tokens: Tensor, positions: Tensor | None = None, last: int | None = None) -> Tensor:
        where = draw(tokens) if draws and positions is None else positions
        tokens = tokens.to(members.device)
        if takes_shortcuts(ensemble):
            return members(tokens, where, last=last)
        return members(tokens, where)[:, :, -(last or tokens.shape[-1]) :]  # a user's model returns all logits

    language = TASKS.build(configs[0].task)
    temperatures = temperatures_within(models, language, configs)
    windows = double_window(configs[0]) if draws else encoding.alike_up_to
    losses = by_context(models, language, configs, windows, temperatures)
    others = suffixes(models, language, configs, draw if draws else None)
    rows = zip(temperatures, others, score_facts(models, language, configs), strict=True)
    tables = [pd.DataFrame([{"temperature": temperature} | one | two]) for temperature, one, two in rows]
    return list(zip(losses, tables, strict=True))


def _join_curves(first: Training, second: Training, steps: int) -> Training:
    """Return the curve of two trainings in sequence; the first took ``steps`` steps."""
    if first.diverged_at is not None:
        return first
    diverged_at = None if second.diverged_at is None else steps + second.diverged_at
    later = [steps + step for step in second.steps]
    return Training([*first.steps, *later], [*first.losses, *second.losses], diverged_at)


def find_chance(config: LanguageRun, metrics: pd.DataFrame) -> Sequence[float] | None:
    """Return the loss of a uniform guess.

    Return None for a class of the user, since reading a record must not import it, and for a language that cannot be
    built here.
    """
    kind = TASKS.get(config.task["name"])
    if kind is None:
        return None
    try:
        vocabulary = getattr(kind, "vocabulary", None) or TASKS.build(config.task).vocabulary
    except InputError:
        return None
    return [math.log(vocabulary)] * len(metrics)


LANGUAGE = Family(
    groups=GROUPS,
    complete=complete,
    build_models=build_models,
    make_objective=make_objective,
    train_models=train_models,
    evaluate_models=evaluate_models,
    open_model=TrainedLanguage,
    measure_laws=measure_laws,
    find_chance=find_chance,
)
