"""One trained model with hooks: its activations by the names of docs/reference.md, and what replacing them changes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from synthlab.errors import InputError
from synthlab.models.layers import HookPoint
from synthlab.models.transformer import Decoder
from synthlab.runs.registry import describe_unknown

Hook = tuple[str, Callable[[Tensor, Any], Tensor | None]]


class HookedTransformer(nn.Module):
    """A trained decoder as a module that takes tokens: hooks, gradients, ``state_dict``, ``torch.export``.

    ``model`` is a decoder of the lab, an ensemble of one: ``TrainedModel.module``.
    """

    def __init__(self, model: Decoder):
        super().__init__()
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
    """Return the one of ``names`` that ``name`` stands for: itself, or short for it, such as ``("pattern", 0)``.

    A short name has the ending after ``hook_`` and the block. Raises InputError if there is none.
    """
    names = list(names)
    ends = (f"blocks.{name[1]}.", f".hook_{name[0]}") if isinstance(name, tuple) and len(name) == 2 else None
    for full in names:
        if full == name or (ends and full.startswith(ends[0]) and full.endswith(ends[1])):
            return full
    raise InputError(describe_unknown("name", name, names))


@contextmanager
def attach_hooks(model: HookedTransformer, hooks: Iterable[Hook]) -> Iterator[None]:
    """Call each hook at its place while the model runs. Raises InputError for a name that the model does not have."""
    points, handles = model.hook_points(), []
    try:
        for name, function in hooks:
            if name not in points:
                raise InputError(describe_unknown("name", name, points))
            handles.append(
                points[name].register_forward_hook(lambda point, _, value, change=function: change(value, point))
            )
        yield
    finally:
        for handle in handles:
            handle.remove()


def run_with_cache(
    model: HookedTransformer, tokens: Tensor, positions: Tensor | None = None, hooks: Iterable[Hook] = ()
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the output at every token, and the value at every hook point, with the changes of ``hooks``."""
    values: dict[str, Tensor] = {}

    def keep(activation: Tensor, point: HookPoint) -> None:
        values[point.name] = activation.detach().clone()  # a later hook may edit in place

    everywhere = [(name, keep) for name in model.hook_points()]
    with torch.no_grad(), attach_hooks(model, [*hooks, *everywhere]):  # those of the user first, to keep their results
        return model(tokens, positions), values
