"""The family of languages: its runs are completed here (see ``training.family.Family``)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from synthlab.errors import InputError
from synthlab.finetuning.adapters import ADAPTERS
from synthlab.finetuning.patterns import PATTERNS
from synthlab.language.evaluation import evaluate_models
from synthlab.language.languages import TASKS
from synthlab.language.objective import WindowLoss
from synthlab.language.run import NEUTRAL_MEMBERS, LanguageRun
from synthlab.language.trained import TrainedLanguage
from synthlab.language.training import build_extension, build_models, train_models
from synthlab.longshort.windows import min_context
from synthlab.models.building import build_encoding
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Encoding
from synthlab.models.encodings.length_rope import LengthRoPE
from synthlab.models.encodings.plain import NoPE
from synthlab.models.encodings.rope import RoPE
from synthlab.models.language_model import MODELS
from synthlab.models.laws import Law, check_laws, measure_model
from synthlab.positions.samplers import SAMPLERS
from synthlab.rng import stream
from synthlab.runs.registry import Registry, complete_members, show
from synthlab.training.family import Family

MAX_TOKENS = 20_000  # the most tokens of a text for recall
GROUPS: dict[str, Registry[Any]] = {
    "task": TASKS,
    "encoding": ENCODINGS,
    "extension": ENCODINGS,
    "model": MODELS,
    "positions": SAMPLERS,
    "pattern": PATTERNS,
    "lora": ADAPTERS,
}


def complete(config: LanguageRun) -> LanguageRun:
    """Return the run with its defaults filled in. Raises InputError for one that could not be trained or tested.

    Its language, encodings and sampler are built, and no model. A class of the user is measured by the laws that it
    must keep.
    """
    parts = {"task": config.task, "encoding": config.encoding, "model": config.model}
    parts |= {
        field: member
        for field, idle in ({"extension": "none"} | NEUTRAL_MEMBERS).items()
        if (member := getattr(config, field)) is not None and member.get("name") != idle
    }
    window = _window(config)
    if "extension" in parts:
        is_dropped = parts["extension"]["name"] == "nope"
        if not is_dropped and not issubclass(ENCODINGS.find(config.encoding.get("name")), RoPE):
            raise InputError(f"encoding={config.encoding['name']}: an extension replaces rope; choose encoding=rope")
        # Defaults of the extension, from the model that it extends.
        known = {
            "trained": config.train_length,
            "base": config.encoding.get("base"),
            "factor": math.ceil(config.test_length / config.train_length),
        }
        parts["extension"] = _fill(parts["extension"], known)
    if "positions" in parts:
        parts["positions"] = _fill(parts["positions"], {"factor": math.ceil(config.test_length / window)})
    members = complete_members(GROUPS, parts)
    language = tested_language = TASKS.build(members["task"])
    if config.test_task:
        filled = dict.fromkeys(language.complete_arguments())  # a record's are those of the training text
        changed = TASKS.complete({**members["task"], **filled, **config.test_task}, "test_task")
        tested_language = TASKS.build(changed)
        members["test_task"] = {key: changed[key] for key in config.test_task} | tested_language.complete_arguments()
        if tested_language.vocabulary != language.vocabulary:
            raise InputError(f"test_task={show(dict(config.test_task))}: changes the vocabulary; a model has one")
    members["task"] = {**members["task"], **language.complete_arguments()}
    config = config.model_copy(update=dict.fromkeys(["extension", *NEUTRAL_MEMBERS]) | members)
    _check_windows(config)
    for field in ("extension", "pattern", "lora"):
        if field in members and config.model["name"] != "transformer":
            needs = f"needs model=transformer, not {config.model['name']}"
            raise InputError(f"{field}={members[field]['name']}: {needs}")
        if field in members and "mixer" in config.model:
            needs = f"needs attention, not model.mixer={config.model['mixer']['name']}"
            raise InputError(f"{field}={members[field]['name']}: {needs}")
    encoding, encodings = build_encoding(MODELS, config), dict[str, Encoding]()
    if encoding is not None:
        encodings["encoding"] = encoding
    if config.extension is not None:
        encodings["extension"] = build_extension([config])
    _check_encodings(config, encodings)
    if config.pattern is not None:
        PATTERNS.build(config.pattern).mask(config.model["heads"], window)
    if config.lora is not None and not config.finetune.steps:
        raise InputError(f"lora={config.lora['name']}: applies only to a second training; set finetune.steps")
    # Raises InputError for texts that the language cannot supply.
    gathered = None if config.positions is None else SAMPLERS.build(config.positions).text_length(window)
    trained = max(config.alignment.windows * max(config.train_length, config.finetune.length or 0), gathered or 0)
    tested = max(config.test_length + 1, 2 * config.train_length)
    language.draw(1, trained, stream(0, "training"))
    tested_language.draw(1, tested, stream(0, "training"), held_out=True)
    check_laws(config, lambda: measure_laws(config))
    return config


def _fill(member: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``member`` with the values of ``known`` in place of null."""
    return {**member} | {key: value for key, value in known.items() if key in member and member[key] is None}


def _window(config: LanguageRun) -> int:
    """Return the number of tokens of a window of the last training."""
    return (config.finetune.steps and config.finetune.length) or config.train_length


def _check_windows(config: LanguageRun) -> None:
    """Raise InputError for windows of the regularizer that do not fit, and for texts for recall that are too long."""
    alignment, lengths = config.alignment, config.evaluation.lengths
    if max(lengths) * config.train_length > MAX_TOKENS:
        raise InputError(f"evaluation.lengths={lengths}: must be at most {MAX_TOKENS} tokens, times train_length")
    if alignment.windows == 1:
        if alignment.alpha:
            raise InputError(f"alignment.windows=1: alignment.alpha={alignment.alpha:g} compares two; give 2")
        return
    for length in {config.train_length, config.finetune.length or config.train_length}:
        minimal, maximal = config.offsets(length)
        if minimal > maximal:
            raise InputError(
                f"alignment.low={alignment.low:g}: no whole number of tokens lies between it and "
                f"alignment.high={alignment.high:g} of windows of {length}; widen the range"
            )
        if length - maximal < config.context(length):
            raise InputError(
                f"alignment.high={alignment.high:g}: an offset of {maximal} tokens leaves windows of {length} nothing "
                f"in common after {config.context(length)}; lower it, or alignment.context={alignment.context:g}"
            )


def _check_encodings(config: LanguageRun, encodings: Mapping[str, Encoding]) -> None:
    """Raise InputError for positions that an encoding does not have, and extensions that cannot replace it."""

    def name(field: str) -> str:
        return f"{field}={getattr(config, field)['name']}"

    length, window, extension = config.train_length, _window(config), encodings.get("extension")
    if config.finetune.steps and extension is None:
        raise InputError(
            f"finetune.steps={config.finetune.steps}: needs an extension; choose one, or extension=rope for a plain "
            f"second training"
        )
    sampler = None if config.positions is None else SAMPLERS.build(config.positions)
    reach = window if sampler is None else sampler.reach(window)
    if sampler is not None and sampler.text_length(window) is not None and config.alignment.windows == 2:
        raise InputError(f"{name('positions')}: gathers a window from a text; alignment.windows=2 compares two; give 1")
    longest = max(config.test_length, length, config.finetune.length or 0)
    longest = max(longest, *(round(multiple * length) for multiple in config.evaluation.lengths))
    # Both windows of a text share one draw of random positions, for all tokens that they cover.
    offset = config.offsets(length)[1] * (config.alignment.windows - 1)
    covered = length + max(length - min_context(length, 0.5), offset)
    for field, encoding in encodings.items():
        positions = encoding.longest()
        is_last = field == list(encodings)[-1]
        needed = max(longest, covered) if encoding.draws_positions else longest
        if positions < needed:
            raise InputError(
                f"{name(field)}: has {positions} positions; texts of {needed} tokens need as many (test_length, and "
                f"evaluation.lengths times train_length; where positions are drawn, two windows of a text)"
            )
        if sampler is not None and is_last and (encoding.draws_positions or reach > positions):
            why = "draws positions itself" if encoding.draws_positions else f"has {positions} positions, not {reach}"
            raise InputError(f"{name('positions')}: {name(field)} {why}")
        if field == "encoding" and extension is not None and any(True for _ in encoding.parameters()):
            raise InputError(f"{name(field)}: has weights, which an extension would replace; choose rope")
    if extension is None:
        return
    if not isinstance(extension, RoPE | NoPE):
        raise InputError(f"{name('extension')}: must be a variant of rope, or nope")
    # Within the length of the first training, an extension that depends on the length is plain RoPE.
    has_weights = isinstance(extension, LengthRoPE) and any(each.numel() for each in extension.parameters())
    alike = extension.alike_up_to(1)
    if config.finetune.steps and has_weights and reach <= alike:
        raise InputError(
            f"{name('extension')}: has weights that only training beyond {alike} tokens affects; choose a larger "
            f"extension.factor, positions that reach farther, as positions=clex, or a larger finetune.length"
        )


def measure_laws(config: LanguageRun) -> Iterator[Law]:
    """Yield the laws that the encoding, its extension and the model of a run keep, as ``models.laws`` measures them."""
    ensemble, symbols = build_models([config]), TASKS.build(config.task).vocabulary
    yield from measure_model(ensemble, symbols)
    if config.extension is not None:
        ensemble.encoding = build_extension([config])
        yield from measure_model(ensemble, symbols, "extension")


def find_chance(config: LanguageRun, metrics: pd.DataFrame) -> Sequence[float] | None:
    """Return the loss of a uniform guess.

    Return None for a class of the user, since reading a record must not import it.
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
    make_objective=WindowLoss,
    train_models=train_models,
    evaluate_models=evaluate_models,
    open_model=TrainedLanguage,
    measure_laws=measure_laws,
    find_chance=find_chance,
)
