"""Activations of a model by name."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from synthlab.config.argument_checks import shorten
from synthlab.config.registry import describe_unknown
from synthlab.errors import InputError
from synthlab.inspection.hooked import HookedTransformer, full_name
from synthlab.inspection.interventions import Hook
from synthlab.models.encodings.base import Dims
from synthlab.models.encodings.plain import NoPE
from synthlab.models.layers import HookPoint
from synthlab.models.transformer import Decoder


class Activations(dict[Any, Tensor]):
    """A model's activations for N sequences of T tokens, by the name of the hook point; printed as names and shapes.

    ``activations["pattern", 0]`` is short for ``activations["blocks.0.attn.hook_pattern"]``, as in TransformerLens.
    ``tokens`` has the tokens of each sequence, BOS and EOS included, as texts: N lists of T.
    """

    def __init__(self, values: Mapping[str, Tensor], tokens: Sequence[Sequence[str]]):
        super().__init__(values)
        self.tokens = [list(row) for row in tokens]

    def __missing__(self, name: Any) -> Tensor:
        """Return the activation with a short name."""
        return self[full_name(name, self)]

    def __repr__(self) -> str:
        longest = max(map(len, self), default=0)
        return "\n".join(f"{name:<{longest}}  {list(values.shape)}" for name, values in self.items())


@contextmanager
def attach_hooks(model: HookedTransformer, hooks: Any) -> Iterator[None]:
    """Call each hook at its place while the model runs.

    Raises InputError for an invalid hook, and for a name that the model does not have.
    """
    points, handles = model.hook_points(), []
    pairs = _pairs(hooks)
    missing = [name for name, _ in pairs if name not in points]
    if missing:
        raise InputError(describe_unknown("name", missing[0], points))
    try:
        for name, function in pairs:
            handles.append(points[name].register_forward_hook(_forward_hook(function)))
        yield
    finally:
        for handle in handles:
            handle.remove()


def run_with_hooks(
    model: HookedTransformer, tokens: Tensor, positions: Tensor | None = None, hooks: Any = ()
) -> Tensor:
    """Return the output at every token, with the changes of ``hooks``."""
    return run_with_cache(model, tokens, positions, hooks)[0]  # all points are watched, so that rounding is the same


def run_with_cache(
    model: HookedTransformer, tokens: Tensor, positions: Tensor | None = None, hooks: Any = ()
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the output at every token, and the value at every hook point, with the changes of ``hooks``."""
    values: dict[str, Tensor] = {}
    points = model.hook_points()

    def keep(activation: Tensor, point: HookPoint) -> None:
        values[point.name] = activation.detach().clone()  # a later hook may edit in place

    # User hooks first, so that their results are recorded.
    with torch.no_grad(), attach_hooks(model, hooks), attach_hooks(model, [(name, keep) for name in points]):
        return model(tokens, positions), values


def added_logits(model: Decoder, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B H T T"]:
    """Return what the position encoding adds to the first layer's attention logits.

    That is the logits minus those of the same weights without position encoding; minus infinity where a token (row)
    does not see another. ``model`` is an ensemble of one.
    """
    plain = deepcopy(model)
    plain.encoding = NoPE(Dims(width=1, heads=1))  # which ignores the sizes
    own, without = (
        run_with_cache(HookedTransformer(each), tokens)[1]["blocks.0.attn.hook_unmasked_scores"]
        for each in (model, plain)
    )
    added = own - without
    return added.masked_fill(torch.ones_like(added, dtype=torch.bool).triu(1), -math.inf)


def _forward_hook(function: Any) -> Any:
    def call(point: nn.Module, _: Any, activation: Tensor) -> Tensor | None:
        new = function(activation, point)
        must = _shape_and_type(activation)
        if new is None or (isinstance(new, Tensor) and _shape_and_type(new) == must):
            return new
        found = _shape_and_type(new) if isinstance(new, Tensor) else type(new).__name__
        raise InputError(f"hook at {point.name}: gives {found}; must be a tensor {must} or None")

    return call


def _shape_and_type(values: Tensor) -> str:
    return f"{list(values.shape)} of {values.dtype}"


def _pairs(hooks: Any) -> list[Hook]:
    """Return ``hooks`` as a list. Raises InputError for an invalid one."""
    if not isinstance(hooks, Iterable) or isinstance(hooks, str):
        raise InputError(f"hooks={shorten(hooks)}: must be a list of pairs of a name and a function")
    pairs: list[Hook] = []
    for hook in hooks:
        match hook:
            case (str(), function) if callable(function):
                pairs.append(cast(Hook, tuple(hook)))
            case _:
                raise InputError(f"hooks: {shorten(hook)} is none; must be pairs of a name and a function")
    return pairs
