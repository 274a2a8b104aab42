"""One trained model with hooks: its activations by the names of docs/reference.md, and what replacing them changes."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims
from synthlab.models.encodings.plain import NoPE
from synthlab.models.layers import HookPoint
from synthlab.models.transformer import Decoder
from synthlab.runs.registry import describe_unknown, show

Hook = tuple[str, Callable[[Tensor, Any], Tensor | None]]


class HookedTransformer(nn.Module):
    """A trained decoder as a module that takes tokens: hooks, gradients, ``state_dict``, ``torch.export``.

    Args:
        model: A decoder of the lab, an ensemble of one: ``TrainedModel.module``.

    Raises:
        InputError: ``model`` is an ensemble of several models.
    """

    def __init__(self, model: Decoder):
        super().__init__()
        models = len(model.token_embeddings)
        if models != 1:
            raise InputError(f"model: an ensemble of {models}; must be an ensemble of one")
        self.model = model

    def forward(
        self, tokens: Int[Tensor, "B T"], positions: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T V"]:
        """Return the output at every token; V is 1 for a number, the vocabulary for a language.

        A sequence of a number task is BOS (2), its symbols, EOS (3), and its output is that of EOS. ``positions``
        are 0..T - 1 by default.
        """
        return self.model.read(tokens[None], None if positions is None else positions[None])[0]

    def hook_points(self) -> dict[str, HookPoint]:
        """Return every hook point by its name."""
        return {module.name: module for module in self.modules() if isinstance(module, HookPoint)}


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


def full_name(name: Any, names: Iterable[str]) -> str:
    """Return the one of ``names`` that a short name, such as ``("pattern", 0)``, stands for.

    It ends in ``hook_{name[0]}`` in the block ``name[1]``. Raises InputError if there is none.
    """
    names = list(names)
    if isinstance(name, tuple) and len(name) == 2:
        start, end = f"blocks.{name[1]}.", f".hook_{name[0]}"
        for full in names:
            if full.startswith(start) and full.endswith(end):
                return full
    raise InputError(describe_unknown("name", name, names))


@contextmanager
def attach_hooks(model: HookedTransformer, hooks: Iterable[Any]) -> Iterator[None]:
    """Call each hook at its place while the model runs.

    Raises InputError for an invalid hook, and for a name that the model does not have.
    """
    points, handles = model.hook_points(), []
    try:
        for hook in hooks:
            if not (isinstance(hook, tuple) and len(hook) == 2 and callable(hook[1])):
                raise InputError(f"hooks: {show(hook)} is none; must be pairs of a name and a function")
            name, function = hook
            if name not in points:
                raise InputError(describe_unknown("name", name, points))
            handles.append(points[name].register_forward_hook(_forward_hook(function)))
        yield
    finally:
        for handle in handles:
            handle.remove()


def run_with_cache(
    model: HookedTransformer, tokens: Tensor, positions: Tensor | None = None, hooks: Iterable[Any] = ()
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the output at every token, and the value at every hook point, with the changes of ``hooks``."""
    values: dict[str, Tensor] = {}

    def keep(activation: Tensor, point: HookPoint) -> None:
        values[point.name] = activation.detach().clone()  # a later hook may edit in place

    everywhere = [(name, keep) for name in model.hook_points()]
    with torch.no_grad(), attach_hooks(model, [*hooks, *everywhere]):  # those of the user first, to keep their results
        return model(tokens, positions), values


def run_with_hooks(
    model: HookedTransformer, tokens: Tensor, positions: Tensor | None = None, hooks: Iterable[Any] = ()
) -> Tensor:
    """Return the output at every token, with the changes of ``hooks``, rounded as ``run_with_cache`` rounds."""
    return run_with_cache(model, tokens, positions, hooks)[0]


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


def _forward_hook(function: Callable[[Tensor, Any], Tensor | None]) -> Any:
    def call(point: HookPoint, _: Any, activation: Tensor) -> Tensor | None:
        new = function(activation, point)
        if new is None or (isinstance(new, Tensor) and (new.shape, new.dtype) == (activation.shape, activation.dtype)):
            return new
        found = f"{list(new.shape)} of {new.dtype}" if isinstance(new, Tensor) else type(new).__name__
        must = f"{list(activation.shape)} of {activation.dtype}"
        raise InputError(f"hook at {point.name}: gives {found}; must be a tensor {must} or None")

    return call
