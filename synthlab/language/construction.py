"""Construction of a config's language model, and checks of the config before anything runs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from synthlab.alignment.windows import both_contexts, min_context
from synthlab.config.registry import Registry, ask_member, catch_errors, complete_members, is_whole
from synthlab.errors import InputError
from synthlab.finetuning.adapters import ADAPTERS, AdaptedModel
from synthlab.finetuning.patterns import PATTERNS
from synthlab.language.config import LATER, LanguageConfig
from synthlab.language.languages import LANGUAGES
from synthlab.language.languages.source import Language
from synthlab.models.building import build_ensemble, check_answers, check_encoding
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.encodings.length_rope import LengthRoPE
from synthlab.models.encodings.rope import RoPE
from synthlab.models.language_model import MODELS
from synthlab.models.laws import Law, check_laws, measure_model
from synthlab.positions.samplers import SAMPLERS, check_sampler
from synthlab.rng import stream
from synthlab.training.optimizers import check_optimizer

MOST = 10**6  # the most tokens of a vocabulary
LONGEST = 20_000  # the most tokens of a text for recall
KINDS: dict[str, Registry[Any]] = {
    "task": LANGUAGES,
    "encoding": ENCODINGS,
    "extension": ENCODINGS,
    "model": MODELS,
    "positions": SAMPLERS,
    "pattern": PATTERNS,
    "lora": ADAPTERS,
}


def resolve(raw: Mapping[str, Any]) -> LanguageConfig:
    """Return the complete config of the run that ``raw`` describes, with defaults filled in.

    Raises InputError for a run that could not be trained or tested.
    """
    config = LanguageConfig.from_raw(raw)
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
    for field, before in LATER.items():
        member = getattr(config, field)
        if member is not None and member.get("name") != before:
            parts[field] = member
    if "positions" in parts:
        parts["positions"] = _fill(parts["positions"], {"factor": math.ceil(config.test_length / _window(config))})
    members = complete_members(KINDS, parts)
    language = LANGUAGES.build(members["task"])
    members["task"] = {**members["task"], **_complete_arguments(members["task"]["name"], language)}
    config = config.model_copy(update=dict.fromkeys(["extension", *LATER]) | members)
    _check_alignment(config)
    for field in ("extension", "pattern", "lora"):
        if field in members and config.model["name"] != "transformer":
            needs = f"needs model=transformer, not {config.model['name']}"
            raise InputError(f"{field}={members[field]['name']}: {needs}")
    ensemble = build_models([config])
    encodings = {"encoding": check_encoding(config, ensemble)}
    if config.extension is not None:
        encodings["extension"] = build_extension([config])
    _check_positions(config, encodings)
    _check_encodings(config, encodings)
    _check_pattern(config)
    _check_adapters(config, ensemble)
    _check_texts(config, language)
    check_optimizer(config.protocol, ensemble)
    check_laws(config, lambda: measure_laws(config))
    return config


def measure_laws(config: LanguageConfig) -> Iterator[Law]:
    """Yield the laws that the encoding, its extension and the model of a run keep, as ``models.laws`` measures them."""
    ensemble, symbols = build_models([config]), LANGUAGES.build(config.task).vocabulary
    yield from measure_model(ensemble, symbols)
    if config.extension is not None:
        ensemble.encoding = build_extension([config])
        yield from measure_model(ensemble, symbols, "extension")


def _fill(member: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``member`` with the values of ``known`` in place of null."""
    unset = {key for key, value in member.items() if value is None}
    return {**member} | {key: known[key] for key in unset & known.keys()}


def _window(config: LanguageConfig) -> int:
    """Return the number of tokens of a window of the last training."""
    return (config.finetune.steps and config.finetune.length) or config.train_length


def _complete_arguments(name: str, language: Language) -> Mapping[str, Any]:
    """Return the arguments that a language fills in. Raises InputError for invalid answers about its sizes."""
    ask, is_size = partial(ask_member, "task", name), partial(is_whole, low=1, high=MOST)
    ask("vocabulary", lambda: language.vocabulary, is_size, f"a whole number from 1 to {MOST}")
    return ask(
        "complete_arguments()",
        language.complete_arguments,
        lambda given: isinstance(given, Mapping),
        "a mapping of arguments",
    )


def _check_alignment(config: LanguageConfig) -> None:
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


def _check_encodings(config: LanguageConfig, encodings: Mapping[str, Encoding]) -> None:
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


def _check_weights(config: LanguageConfig, extension: Mapping[str, Any], encoding: Encoding) -> None:
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


def _check_positions(config: LanguageConfig, encodings: Mapping[str, Encoding]) -> None:
    """Raise InputError for a sampler with an encoding that draws positions, or beyond the encoding's positions."""
    if config.positions is None:
        return
    (field, encoding), name = list(encodings.items())[-1], config.positions["name"]
    if encoding.draws_positions:
        raise InputError(f"positions={name}: {field}={getattr(config, field)['name']} draws positions itself")
    sampler = check_sampler(config.positions, _window(config))
    if sampler.text_length(_window(config)) is not None and config.alignment.windows == 2:
        raise InputError(f"positions={name}: gathers a window from a text; alignment.windows=2 compares two; give 1")
    reach = sampler.reach(_window(config))
    if encoding.longest() < reach:
        raise InputError(
            f"positions={name}: gives positions up to {reach - 1}; {field}={getattr(config, field)['name']} has "
            f"{encoding.longest()}"
        )


def _check_pattern(config: LanguageConfig) -> None:
    """Raise InputError for a pattern that does not fit the last training's windows, or the model."""
    if config.pattern is None:
        return
    heads, window, pattern = config.model["heads"], _window(config), PATTERNS.build(config.pattern)
    told, shape, make = f"mask({heads}, {window})", (heads, window, window), partial(pattern.mask, heads, window)
    must = f"a tensor of truth values of shape {shape}, with a key that each query sees"

    def fits(mask: Tensor) -> bool:
        return (mask.dtype, mask.shape) == (torch.bool, shape) and bool(mask.any(-1).all())

    ask_member("pattern", config.pattern["name"], told, make, fits, must)


def _check_adapters(config: LanguageConfig, ensemble: nn.Module) -> None:
    """Raise InputError for adapters without a second training, and for those that do not fit the model."""
    if config.lora is None:
        return
    if not config.finetune.steps:
        raise InputError(f"lora={config.lora['name']}: applies only to a second training; set finetune.steps")
    with catch_errors("lora", config.lora["name"], "adapt the model"):
        build_adapters(ensemble, [config])


def _check_texts(config: LanguageConfig, language: Language) -> None:
    """Raise InputError for texts that the language cannot supply, and texts for recall that are too long."""
    longest = round(max(config.evaluation.lengths) * config.train_length)
    if longest > LONGEST:
        raise InputError(f"evaluation.lengths={config.evaluation.lengths}: ask for {longest} tokens; at most {LONGEST}")
    window = max(config.train_length, config.finetune.length or 0)
    gathered = None if config.positions is None else SAMPLERS.build(config.positions).text_length(_window(config))
    trained = max(config.alignment.windows * window, gathered or 0)
    tested = max(config.test_length + 1, 2 * config.train_length)
    for length, held_out in ((trained, False), (tested, True)):
        draw = partial(language.draw, 1, length, stream(0, "training"), held_out=held_out)
        is_text = partial(_is_text, shape=(1, length), vocabulary=language.vocabulary)
        must = f"a tensor of whole numbers of shape (1, {length}), from 0 to {language.vocabulary - 1}"
        ask_member("task", config.task["name"], f"draw(1, {length})", draw, is_text, must)


def _is_text(given: Tensor, shape: tuple[int, int], vocabulary: int) -> bool:
    fits = given.dtype == torch.long and given.shape == shape
    return fits and 0 <= int(given.min()) <= int(given.max()) < vocabulary


def build_extension(configs: Sequence[LanguageConfig]) -> Encoding:
    """Initialize the extension of runs of one shape, as one ensemble. Raises InputError."""
    first, name = configs[0], str((configs[0].extension or {}).get("name"))
    dims = Dims(first.model["width"], first.model["heads"], len(configs))
    try:
        extension = ENCODINGS.build(first.extension or {}, dims, field="extension")
    except InputError as error:  # the encoding cannot name the config group
        raise InputError(*(line.replace("encoding.", "extension.") for line in error.lines)) from None
    check_answers("extension", name, extension)
    with catch_errors("extension", name, "be part of a model"):
        extension.initialise([stream(config.weight_seed, "extension") for config in configs])
    return extension


def build_adapters(ensemble: nn.Module, configs: Sequence[LanguageConfig]) -> AdaptedModel | None:
    """Return the ensemble with the adapters of its second training; None if that trains all weights.

    Raises InputError for adapters that do not fit.
    """
    if configs[0].lora is None:
        return None
    draws = [stream(config.weight_seed, "adapters") for config in configs]
    return AdaptedModel(ensemble, ADAPTERS.build(configs[0].lora), draws)


def build_models(configs: Sequence[LanguageConfig]) -> nn.Module:
    """Initialize the models of runs of one shape, as one ensemble. Raises InputError for sizes that do not fit."""
    generators = [stream(config.weight_seed, "initial") for config in configs]
    return build_ensemble(MODELS, configs, generators, LANGUAGES.build(configs[0].task).vocabulary)
