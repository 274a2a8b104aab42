"""The steps of an extension: check, measure, train, measure, save."""

import json
import math
from pathlib import Path
from typing import Any

import torch

from synthlab.errors import InputError
from synthlab.finetuning.patterns import PATTERNS
from synthlab.huggingface.extension.losses import Losses, measure_losses
from synthlab.huggingface.extension.methods import METHODS
from synthlab.huggingface.extension.models import (
    MODEL,
    SETTINGS,
    extend_frequencies,
    load_config,
    load_tokenizer,
    read_settings,
    save,
    trained_length,
    with_adapters,
)
from synthlab.huggingface.extension.settings import BOOKKEEPING, Settings
from synthlab.huggingface.extension.texts import Windows, read_tokens, split_tokens
from synthlab.huggingface.extension.training import WindowPlan, make_arguments, train_in_place
from synthlab.huggingface.sparse_attention import sparse_in_training
from synthlab.output import say
from synthlab.positions.samplers import SAMPLERS
from synthlab.storage.files import Folder, write_whole
from synthlab.training.devices import find_device

LOSSES = "losses.json"


def extend(settings: Settings) -> None:
    """Train and save what the settings describe, and print losses before and after. Raises InputError."""
    device = _device(settings)
    output = Path(settings.output)
    _check_output(settings, output)
    if settings.adapters["name"] != "none":
        from synthlab.huggingface.lora import SETTINGS as ADAPTERS

        ADAPTERS.arguments(settings.adapters)
    METHODS.arguments(settings.method)
    config, tokenizer = load_config(settings), load_tokenizer(settings)
    _check_rank(settings, config.hidden_size)
    trained = trained_length(settings, config)
    plan, arguments = _plan_windows(settings, trained, config.num_attention_heads), make_arguments(settings, device)
    learnt, tested = split_tokens(read_tokens(settings.texts, tokenizer), settings.evaluation.held_out)
    rows = Windows(learnt, plan.row, "training")
    texts = Windows(tested, settings.factor * trained, "tests").rows[: settings.evaluation.texts]

    model = with_adapters(extend_frequencies(settings).to(device), settings)
    _write(output / SETTINGS, settings.model_dump())
    dtype = getattr(torch, settings.dtype)
    before = _read_losses(output) or measure_losses(model, texts, trained, dtype)
    _write(output / LOSSES, {"before": before})
    say(f"before fine-tuning: {before.describe(trained)}")
    if settings.pattern["name"] != "full":
        sparse_in_training(model, **settings.pattern)
    train_in_place(model, rows, plan, settings, arguments)
    after = measure_losses(model, texts, trained, dtype)
    _write(output / LOSSES, {"before": before, "after": after})
    say(f"after fine-tuning: {after.describe(trained)}", f"written: {save(model, tokenizer, settings)}")


def _device(settings: Settings) -> str:
    device = find_device(settings.device)
    if device == "cpu" and settings.dtype == "float16":
        raise InputError("dtype=float16: needs a GPU; choose bfloat16 or float32")
    return device


def _check_output(settings: Settings, output: Path) -> None:
    """Raise InputError for an address, an invalid folder name, and a folder with other content."""
    if "://" in settings.output:
        raise InputError(f"output={settings.output}: must be a folder of this machine")
    try:
        output.stat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise InputError(f"output={output}: cannot be written ({getattr(error, 'strerror', None) or error})") from None
    if output.exists() and not output.is_dir():
        raise InputError(f"output={output}: is no folder")
    if (output / MODEL).exists():
        raise InputError(f"output={output}: already has a finished extension; give another folder")
    if not output.exists() or not any(output.iterdir()):
        return
    begun = read_settings(output)
    if begun is None or not settings.resume:
        line = "is not empty; give a new folder" if begun is None else "is begun; give resume=true or a new folder"
        raise InputError(f"output={output}: {line}")
    ours, theirs = ({**each.model_dump(exclude=set(BOOKKEEPING))} for each in (settings, begun))
    if changed := [key for key in ours if ours[key] != theirs[key]]:
        raise InputError(*(f"{key}={ours[key]}: was {theirs[key]} when {output} was begun" for key in changed))


def _check_rank(settings: Settings, width: int) -> None:
    """Raise InputError for adapters of a higher rank than the weights that they change."""
    rank = settings.adapters.get("rank", 0)
    if rank > width:
        raise InputError(f"adapters.rank={rank}: must be at most {width}, the width of the model")


def _plan_windows(settings: Settings, trained: int, heads: int) -> WindowPlan:
    """Return the plan of windows for the model's context and heads. Raises InputError if it does not fit."""
    full = settings.factor * trained
    window = settings.window or (full if settings.positions["name"] == "contiguous" else trained)
    given = dict(settings.positions)
    if "factor" in given and given["factor"] is None:
        given["factor"] = math.ceil(full / window)
    sampler, contiguous = SAMPLERS.build(given), given["name"] == "contiguous"
    plan = WindowPlan(window, None if contiguous else sampler, settings)
    if settings.method["name"] == "clex" and min(sampler.reach(window), full) <= trained:
        raise InputError(
            f"method=clex: has weights that only training beyond {trained} tokens affects; choose larger "
            f"positions, such as positions=clex, or a larger window than {window}, and a factor of 2 or more"
        )
    PATTERNS.build(settings.pattern).mask(heads, window)
    return plan


def _read_losses(output: Path) -> Losses | None:
    """Return the losses before training, from an extension that is resumed."""
    try:
        return Losses(**json.loads(Folder(output).read(LOSSES))["before"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, values: dict[str, Any]) -> None:
    plain = {key: value._asdict() if isinstance(value, Losses) else value for key, value in values.items()}
    try:
        write_whole(path, json.dumps(plain, indent=1) + "\n")
    except OSError as error:
        raise InputError(f"output={path}: cannot be written ({error.strerror})") from None
