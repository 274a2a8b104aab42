"""Opening what Transformers has saved: what cannot be opened is refused in one line. Needs the extra ``lm``."""

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from synthlab.errors import InputError, describe_missing, format_error, is_of_memory

try:
    from transformers import AutoModelForCausalLM  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise ImportError(describe_missing("synthlab.huggingface.loading", "transformers", "lm")) from error

SHOWN = 300  # letters of a reason


@contextmanager
def catch_load_errors(field: str, name: object) -> Generator[None]:
    """Turn whatever is raised while a folder or a name is opened into one line, ``field=name: ...``.

    A damaged folder raises anything: errors of JSON, of safetensors, of shapes, of classes that are not there.

    Raises:
        InputError: Something was raised, other than for want of memory.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if is_of_memory(error):
            raise
        reason = format_error(error)
        if "couldn't connect" in reason or "offline" in reason.lower():
            reason = "the hub cannot be reached; download it where there is a network, and give its folder"
        if "trust_remote_code" in reason:
            reason = "it has code of its own, which is not run; give one of a type that Transformers has"
        raise InputError(f"{field}={name}: cannot be opened ({reason:.{SHOWN}})") from None


def causal_model(field: str, name: str | os.PathLike[str], **options: Any) -> Any:
    """Open a causal model of Transformers with all its weights. No code of its folder is run.

    Args:
        field: What errors call the setting that names it.
        name: A folder, or a name on the hub.
        options: Of ``from_pretrained``.

    Raises:
        InputError: There is none, it is damaged, or weights are missing or of another shape, which Transformers would
            draw at random.
    """
    with catch_load_errors(field, name), silence_load_report():
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            name, trust_remote_code=False, output_loading_info=True, ignore_mismatched_sizes=True, **options
        )
    model, info = loaded
    if others := sorted(info["mismatched_keys"]):
        key, found, needed = others[0]
        raise InputError(f"{field}={name}: its {key} has shape {[*found]}; by its config it must be {[*needed]}")
    if lost := sorted(info["missing_keys"]):
        more = f" and {len(lost) - 1} others" if lost[1:] else ""
        raise InputError(f"{field}={name}: lacks the weights {lost[0]}{more}; must have all")
    return model


@contextmanager
def silence_load_report() -> Generator[None]:
    """Keep back the table that Transformers logs of weights that do not fit; who opens them raises a line."""

    def is_other(entry: logging.LogRecord) -> bool:
        return "LOAD REPORT" not in entry.getMessage()

    logger = logging.getLogger("transformers.modeling_utils")
    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)
