"""Changes to what a model computes: hooks for ``TrainedModel.run_with_hooks`` and ``run_with_cache``.

A hook is a pair of a name and a function. The function takes the activation and its hook point, and returns a
replacement, or None for no change. These functions make such pairs; you can write your own. docs/tutorial.md has
examples.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from synthlab.errors import InputError
from synthlab.inspection.hooked import Hook, full_name

HEADS_SECOND = ("scores", "pattern")  # endings of names of activations [N, heads, queries, keys]


def zero_head(layer: int, head: int, tokens: Any = slice(None)) -> Hook:
    """Return a hook that silences a head: ``replace_head`` with 0."""
    return replace_head(layer, head, 0.0, tokens)


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
        A hook at ``blocks.{layer}.attn.hook_z``. When it runs, it raises IndexError for a head or tokens that do not
        exist.
    """

    def replace(z: Tensor, point: Any) -> Tensor:
        z = z.clone()
        z[:, tokens, head] = torch.as_tensor(values, dtype=z.dtype, device=z.device)
        return z

    return (f"blocks.{layer}.attn.hook_z", replace)


def patch(source: Mapping[str, Tensor], name: Any, tokens: Any = slice(None)) -> Hook:
    """Return a hook that replaces an activation by that of other sequences (activation patching).

    Args:
        source: The activations of the other sequences, as many and as long, from ``run_with_cache``.
        name: The name of the activation, such as ``blocks.0.hook_resid_post``, or its short form ``("resid_post", 0)``.
        tokens: The tokens where it is replaced: an index, a slice or a list; by default all. Scores and patterns have
            no dimension of tokens and are patched everywhere.

    Returns:
        A hook at ``name``. When it runs, it raises InputError if the shapes differ, and IndexError for tokens that do
        not exist.

    Raises:
        InputError: ``source`` has no such activation; ``tokens`` are given for scores or a pattern.
    """
    full = name if name in source else full_name(name, source)
    values = source[full]
    if full.endswith(HEADS_SECOND) and tokens != slice(None):
        raise InputError(f"tokens={tokens}: must be left out at {full}, which is [N, heads, queries, keys]")

    def replace(activation: Tensor, point: Any) -> Tensor:
        if activation.shape != values.shape:
            raise InputError(
                f"patch at {point.name}: the source has shape {list(values.shape)}; must be {list(activation.shape)}"
            )
        activation = activation.clone()
        activation[:, tokens] = values.to(activation)[:, tokens]
        return activation

    return (full, replace)
