"""The steps of an extension: check, measure, train, measure, save."""

import json
from pathlib import Path
from typing import Any

import torch

from synthlab.errors import InputError
from synthlab.huggingface.extension.models import (
    LOSSES,
    MODEL,
    SETTINGS,
    build_model,
    load_config,
    read_json,
    read_settings,
    save,
    trained_length,
)
from synthlab.huggingface.extension.settings import BOOKKEEPING, Settings
from synthlab.huggingface.extension.texts import Losses, cut_rows, measure_losses, read_tokens
from synthlab.huggingface.extension.training import make_arguments, plan_windows, train_in_place
from synthlab.huggingface.loading import open_tokenizer
from synthlab.huggingface.sparse_attention import sparse_in_training
from synthlab.output import print_out
from synthlab.storage.files import write_whole
from synthlab.training.devices import find_device


def extend(settings: Settings) -> None:
    """Train and save what the settings describe, and print losses before and after. Raises InputError."""
    device, output = find_device(settings.device), Path(settings.output)
    if device == "cpu" and settings.dtype == "float16":
        raise InputError("dtype=float16: needs a GPU; choose bfloat16 or float32")
    _check_output(settings, output)
    config, tokenizer = load_config(settings), open_tokenizer("pretrained", settings.pretrained)
    rank, width = settings.adapters.rank, config.hidden_size
    if settings.adapters.name != "none" and rank > width:
        raise InputError(f"adapters.rank={rank}: must be at most {width}, the width of the model")
    trained = trained_length(settings, config)
    plan, arguments = plan_windows(settings, trained, config.num_attention_heads), make_arguments(settings, device)
    tokens = read_tokens(settings.texts, tokenizer)
    kept = len(tokens) - round(len(tokens) * settings.evaluation.held_out)  # for training; the others are for tests
    rows = cut_rows(tokens[:kept], plan.row, "training")
    texts = cut_rows(tokens[kept:], settings.factor * trained, "tests")[: settings.evaluation.texts]

    model = build_model(settings, device)
    _write(output / SETTINGS, settings.model_dump())
    dtype = getattr(torch, settings.dtype)
    before = _read_losses(output) or measure_losses(model, texts, trained, dtype)
    _write(output / LOSSES, {"before": before._asdict()})
    print_out(f"before fine-tuning: {before.describe(trained)}")
    if settings.pattern["name"] != "full":
        sparse_in_training(model, **settings.pattern)
    train_in_place(model, rows, plan, settings, arguments)
    after = measure_losses(model, texts, trained, dtype)
    _write(output / LOSSES, {"before": before._asdict(), "after": after._asdict()})
    print_out(f"after fine-tuning: {after.describe(trained)}", f"written: {save(model, tokenizer, settings)}")


def _check_output(settings: Settings, output: Path) -> None:
    """Raise InputError for an address, an invalid folder name, and a folder with other content."""
    if "://" in settings.output:
        raise InputError(f"output={settings.output}: must be a folder of this machine")
    try:
        names = [path.name for path in output.iterdir()]
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise InputError(f"output={output}: cannot be written ({getattr(error, 'strerror', None) or error})") from None
    if MODEL in names:
        raise InputError(f"output={output}: already has a finished extension; give another folder")
    begun = read_settings(output)
    if names and (begun is None or not settings.resume):
        line = "is not empty; give a new folder" if begun is None else "is begun; give resume=true or a new folder"
        raise InputError(f"output={output}: {line}")
    if begun is not None:
        ours, theirs = (each.model_dump(exclude=set(BOOKKEEPING)) for each in (settings, begun))
        if changed := [key for key in ours if ours[key] != theirs[key]]:
            raise InputError(*(f"{key}={ours[key]}: was {theirs[key]} when {output} was begun" for key in changed))


def _read_losses(output: Path) -> Losses | None:
    """Return the losses before training, from an extension that is resumed."""
    try:
        return Losses(**(read_json(output / LOSSES) or {})["before"])
    except (InputError, KeyError, TypeError):
        return None


def _write(path: Path, values: dict[str, Any]) -> None:
    try:
        write_whole(path, json.dumps(values, indent=1) + "\n")
    except OSError as error:
        raise InputError(f"output={path}: cannot be written ({error.strerror})") from None
