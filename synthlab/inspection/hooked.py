"""One trained model as a module of whole texts, whose hook points have the names of docs/inside.md."""

from collections.abc import Iterable
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from synthlab.config.registry import describe_unknown
from synthlab.errors import InputError
from synthlab.models.layers import HookPoint
from synthlab.models.transformer import Decoder


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

        A sequence of a regression task is BOS (2), its symbols, EOS (3), and its output is that of EOS. ``positions``
        are 0..T - 1 by default.
        """
        return self.model.read(tokens[None], None if positions is None else positions[None])[0]

    def hook_points(self) -> dict[str, HookPoint]:
        """Return every hook point by its name."""
        return {module.name: module for module in self.modules() if isinstance(module, HookPoint)}


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
