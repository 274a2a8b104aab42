"""Methods that extend a model's rotary frequencies: settings of Transformers, or CLEX."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from synthlab.errors import InputError
from synthlab.huggingface.extension.settings import MethodSettings

ROPE_TYPES = {"pi": "linear", "yarn": "yarn", "dynamic": "dynamic", "longrope": "longrope"}  # as Transformers says


def rope_parameters(
    method: MethodSettings, plain: Mapping[str, Any], width: int, factor: int, trained: int
) -> dict[str, Any]:
    """Return the ``rope_parameters`` of the extended model.

    Args:
        method: The method: position interpolation (``pi``, arXiv 2306.15595), NTK-aware interpolation (``ntk``, as in
            ``extensions.NTK``; ``dynamic``, by the length of each text), YaRN (arXiv 2309.00071), LongRoPE (arXiv
            2402.13753) without its search, or CLEX (arXiv 2310.16450), which is applied to the opened model.
        plain: The ``rope_parameters`` of the model, with ``rope_theta``.
        width: The rotated dimensions of a head.
        factor: How many times longer the context becomes.
        trained: The number of tokens of the original context.

    Raises:
        InputError: The method does not fit the width.
    """
    if method.name == "ntk":
        if width < 4:
            raise InputError(f"method=ntk: needs heads of 4 rotated dimensions or more; the model's have {width}")
        return {**plain, "rope_theta": plain["rope_theta"] * factor ** (width / (width - 2))}
    if method.name not in ROPE_TYPES:
        return dict(plain)
    given = {**plain, "rope_type": ROPE_TYPES[method.name], "factor": float(factor)}
    if method.name in ("yarn", "longrope"):
        given["original_max_position_embeddings"] = trained
    if method.name == "longrope":
        for name, divisors, least in (("short", method.short, 1.0), ("long", method.long, float(factor))):
            if divisors is not None and len(divisors) != width // 2:
                raise InputError(
                    f"method.{name}={divisors}: must have {width // 2} numbers, one for each pair of dimensions"
                )
            given[f"{name}_factor"] = divisors or [least] * (width // 2)
    return given


def apply_method(
    method: MethodSettings, model: Any, factor: int, trained: int, seed: int, weights: Path | None = None
) -> Any:
    """Return an opened model with a method's changes beyond settings.

    ``weights`` is a saved model to load trained weights of CLEX from.
    """
    if method.name == "dynamic":
        # Transformers 5.23 keeps the frequencies of the longest text so far, also for a later one of N tokens.
        model.base_model.rotary_emb.register_forward_pre_hook(_forget_longer_texts)
    if method.name == "clex":
        from synthlab.huggingface.clex import with_clex

        return with_clex(model, factor, trained, method.hidden, method.steps, seed, weights)
    return model


def _forget_longer_texts(rotary: Any, args: tuple[Any, ...]) -> None:
    rotary.max_seq_len_cached = rotary.original_max_seq_len
    rotary.register_buffer("inv_freq", rotary.original_inv_freq.to(rotary.inv_freq.device), persistent=False)
