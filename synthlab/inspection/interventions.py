"""Changes to what a model computes: hooks for ``TrainedModel.run_with_hooks`` and ``run_with_cache``.

A hook is a pair of a name and a function. The function takes the activation and its hook point, and returns a
replacement, or None for no change. These functions make such pairs; you can write your own. docs/inside.md has
examples.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from synthlab.config.argument_checks import check_arguments, shorten
from synthlab.errors import InputError
from synthlab.inspection.hooked import full_name

Hook = tuple[str, Callable[[Tensor, Any], Tensor | None]]
HEADS_SECOND = ("scores", "pattern")  # endings of names of activations [N, heads, queries, keys]


@check_arguments
def zero_head(layer: int, head: int, tokens: Any = slice(None)) -> Hook:
    """Return a hook that silences a head: ``replace_head`` with 0."""
    return replace_head(layer, head, 0.0, tokens)


@check_arguments
def replace_head(layer: int, head: int, values: Any, tokens: Any = slice(None)) -> Hook:
    """Return a hook that replaces a head's output, the weighted sum of its values.

    Args:
        layer: The block, from 0.
        head: The head, from 0.
        values: The replacement, of a shape that broadcasts to [N, T, d]: N sequences, T replaced tokens, head width d;
            to [N, d] if ``tokens`` is one index. For mean ablation, use the mean over other sequences:
            ``activations["z", layer][:, :, head].mean(0)``.
        tokens: The tokens where it is replaced: an index, a slice or a list; by default all.

    Returns:
        A hook at ``blocks.{layer}.attn.hook_z``. When it runs, it raises InputError for a layer, head or tokens that do
        not exist, and for values of a wrong shape.
    """

    def replace(z: Tensor, point: Any) -> Tensor:
        if not 0 <= head < z.shape[2]:
            raise InputError(f"head={shorten(head)}: must be an integer from 0 to {z.shape[2] - 1} at {point.name}")
        z, places = z.clone(), _places(tokens, z.shape[1], point.name)
        fitting = z[:, places, head]
        try:
            z[:, places, head] = torch.as_tensor(values, dtype=z.dtype, device=z.device).expand_as(fitting)
        except (OverflowError, RuntimeError, TypeError, ValueError):
            given = f" of shape {list(values.shape)}" if isinstance(values, Tensor) else f"={shorten(values)}"
            must = f"must be numbers that broadcast to {list(fitting.shape)}"
            raise InputError(f"values{given} at {point.name}: {must}") from None
        return z

    return (f"blocks.{shorten(layer)}.attn.hook_z", replace)


@check_arguments
def patch(source: Mapping[str, Tensor], name: Any, tokens: Any = slice(None)) -> Hook:
    """Return a hook that replaces an activation by that of other sequences (activation patching).

    Args:
        source: The activations of the other sequences, as many and as long, from ``run_with_cache``.
        name: The name of the activation, such as ``blocks.0.hook_resid_post``, or its short form ``("resid_post", 0)``.
        tokens: The tokens where it is replaced: an index, a slice or a list; by default all. Scores and patterns have
            no dimension of tokens and are patched everywhere.

    Returns:
        A hook at ``name``. When it runs, it raises InputError if the shapes differ, and for tokens that do not exist.

    Raises:
        InputError: ``source`` has no such activation; ``tokens`` are given for scores or a pattern.
    """
    if not source:
        raise InputError("source: holds no activations; must be those that run_with_cache returns")
    full = name if isinstance(name, str) and name in source else full_name(name, source)
    values = source[full]
    if full.endswith(HEADS_SECOND) and not (isinstance(tokens, slice) and tokens == slice(None)):
        raise InputError(f"tokens={shorten(tokens)}: must be left out at {full}, which is [N, heads, queries, keys]")

    def replace(activation: Tensor, point: Any) -> Tensor:
        if activation.shape != values.shape:
            raise InputError(
                f"patch at {point.name}: the source has shape {list(values.shape)}; must be {list(activation.shape)}"
            )
        activation, places = activation.clone(), _places(tokens, activation.shape[1], point.name)
        activation[:, places] = values.to(activation)[:, places]
        return activation

    return (full, replace)


def _places(tokens: Any, count: int, name: str) -> Tensor:
    """Return the indices, from 0, of the ``count`` tokens that ``tokens`` selects. Raises InputError.

    For one index, the result is a tensor without dimensions.
    """
    try:
        places = torch.as_tensor(np.array(np.arange(count)[tokens]))
    except (IndexError, TypeError, ValueError):
        places = None
    if places is None or places.dim() > 1:
        allowed = f"must be an index from {-count} to {count - 1}, or a slice or list of such"
        raise InputError(f"tokens={shorten(tokens)}: {allowed}, at {name}")
    return places
