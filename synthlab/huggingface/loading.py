"""Opening of models that Transformers has saved, with one-line errors. Needs the extra ``lm``."""

import io
import logging
import os
import sys
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from synthlab.errors import InputError, describe_missing, format_error, is_memory_error

try:
    from transformers import AutoModelForCausalLM, AutoTokenizer  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise ImportError(describe_missing("synthlab.huggingface.loading", "transformers", "lm")) from error

SHOWN = 300  # the most characters of a reason


@contextmanager
def catch_load_errors(field: str, name: object) -> Generator[None]:
    """Turn any exception while a folder or a name is opened into one line, ``field=name: ...``.

    A damaged folder can raise anything: errors of JSON, of safetensors, of shapes, of missing classes. Only a lack of
    memory is raised as it is. Transformers' logs are suppressed meanwhile.
    """
    try:
        with silence():
            yield
    except InputError:
        raise
    except Exception as error:
        if is_memory_error(error):
            raise
        reason = format_error(error)
        if "couldn't connect" in reason or "offline" in reason.lower():
            reason = "the hub cannot be reached; download it where there is a network, and give its folder"
        if "trust_remote_code" in reason:
            reason = "it has code of its own, which is not run; give one of a type that Transformers has"
        raise InputError(f"{field}={name}: cannot be opened ({reason:.{SHOWN}})") from None


def causal_model(field: str, name: str | os.PathLike[str], **options: Any) -> Any:
    """Open a causal model of Transformers with all its weights, without running code of its folder.

    ``name`` is a folder or a name on the hub, ``field`` the setting that names it, for errors; ``options`` are those of
    ``from_pretrained``. Raises InputError if there is no such model, it is damaged, or weights are missing or of a
    wrong shape.
    """
    with catch_load_errors(field, name):
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            name, trust_remote_code=False, output_loading_info=True, ignore_mismatched_sizes=True, **options
        )
    model, info = loaded
    check_weights(field, name, info)
    return model


def open_tokenizer(field: str, name: str) -> Any:
    """Open a tokenizer of Transformers, without running code of its folder; arguments as for ``causal_model``."""
    with catch_load_errors(field, name):
        return AutoTokenizer.from_pretrained(name, trust_remote_code=False)


def check_weights(field: str, name: object, info: Mapping[str, Any]) -> None:
    """Raise InputError for weights that Transformers would initialize at random.

    ``info`` is what ``from_pretrained`` returns with ``output_loading_info`` and ``ignore_mismatched_sizes``.
    """
    if others := sorted(info["mismatched_keys"]):
        key, found, needed = others[0]
        raise InputError(f"{field}={name}: its {key} has shape {[*found]}; by its config it must be {[*needed]}")
    if lost := sorted(info["missing_keys"]):
        more = f" and {len(lost) - 1} others" if lost[1:] else ""
        raise InputError(f"{field}={name}: lacks the weights {lost[0]}{more}; must have all")


@contextmanager
def silence() -> Generator[None]:
    """Suppress what Hugging Face's libraries and the harness log, and what they print if nobody watches a terminal."""
    loggers = [logging.getLogger(name) for name in ("lm_eval", "datasets", "transformers", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        shown = sys.stderr if sys.stderr is not None and sys.stderr.isatty() else io.StringIO()
        with redirect_stdout(shown), redirect_stderr(shown), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
