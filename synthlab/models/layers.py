"""Layers of an ensemble: E models of one shape, whose parameters have a leading dimension of models.

One batched matrix product serves all models, so many small models cost little more than their arithmetic. No operation
mixes models: each computes what it would compute alone, for most shapes to the last bit (see ``training.execution``).
Whatever differs between models must be a parameter; all models share a buffer.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

if TYPE_CHECKING:
    from synthlab.models.encodings.base import Encoding

Generators = Sequence[torch.Generator]


def ensemble_parameter(models: int, *shape: int) -> nn.Parameter:
    """Return a parameter [models, *shape] of an ensemble, not initialized."""
    return nn.Parameter(torch.empty(models, *shape))


def init_normal(parameter: nn.Parameter, std: float, generators: Generators) -> None:
    """Initialize each model's values from N(0, std^2), with the model's own generator."""
    for values, generator in zip(parameter.data, generators, strict=True):
        values.normal_(std=std, generator=generator)


def init_uniform(parameter: nn.Parameter, low: float, high: float, generators: Generators) -> None:
    """Initialize each model's values uniformly on (low, high), with the model's own generator."""
    for values, generator in zip(parameter.data, generators, strict=True):
        values.uniform_(low, high, generator=generator)


def sum_from(values: Tensor) -> Tensor:
    """Return the sum of each value and all after it in the last dimension."""
    return values.flip(-1).cumsum(-1).flip(-1)


def gather_rows(table: Float[Tensor, "E R *F"], index: Int[Tensor, "#E *I"]) -> Float[Tensor, "..."]:
    """Return the rows of each model's own ``table`` at ``index``, [E, *I, *F]: an embedding lookup."""
    models, rows = table.shape[:2]
    offset = rows * torch.arange(models, device=index.device)
    index = index + offset.view(-1, *[1] * (index.dim() - 1))
    return F.embedding(index, table.reshape(models * rows, -1)).unflatten(-1, table.shape[2:])


class Linear(nn.Module):
    """A linear layer with bias for each model."""

    def __init__(self, models: int, inputs: int, outputs: int):
        super().__init__()
        self.weight, self.bias = ensemble_parameter(models, inputs, outputs), ensemble_parameter(models, 1, outputs)

    def initialise(self, scale: float, generators: Generators) -> None:
        """Initialize weights with the standard deviation scale / sqrt(inputs), and biases with 0."""
        init_normal(self.weight, scale / math.sqrt(self.weight.shape[1]), generators)
        nn.init.zeros_(self.bias)

    def forward(self, h: Float[Tensor, "E *N i"]) -> Float[Tensor, "E *N o"]:
        rows = h.flatten(1, -2)
        if self.weight.shape[-1] == 1:  # a sum is several times faster than a product with one column
            out = (rows * self.weight.mT).sum(-1, keepdim=True) + self.bias
        else:
            out = torch.baddbmm(self.bias, rows, self.weight)
        return out.unflatten(1, h.shape[1:-1])

    def contributions(self, parts: Float[Tensor, "E *N H p"]) -> Float[Tensor, "E *N H o"]:
        """Return what each of the H parts of an input adds to the output, which is their sum plus the bias."""
        return torch.einsum("e...hp,ehpo->e...ho", parts, self.weight.unflatten(1, parts.shape[-2:]))

    def of_sums(self, weights: Float[Tensor, "E B Q H K"], parts: Float[Tensor, "E H K p"]) -> Float[Tensor, "E B Q o"]:
        """Return the output for inputs whose H parts are sums of K vectors each, by ``weights``.

        It multiplies the vectors, and then sums: that is less work where few vectors serve many sums.
        """
        outputs = parts @ self.weight.unflatten(1, (parts.shape[1], -1))  # E H K o
        out = torch.baddbmm(self.bias, weights.flatten(-2).flatten(1, 2), outputs.flatten(1, 2))
        return out.unflatten(1, weights.shape[1:3])


class LayerNorm(nn.Module):
    """Layer normalization, with a scale and a shift for each model."""

    def __init__(self, models: int, width: int):
        super().__init__()
        self.scale, self.shift = ensemble_parameter(models, 1, width), ensemble_parameter(models, 1, width)
        nn.init.ones_(self.scale)
        nn.init.zeros_(self.shift)

    def forward(self, h: Float[Tensor, "E *N D"]) -> Float[Tensor, "E *N D"]:
        normal = F.layer_norm(h, h.shape[-1:]).flatten(1, -2)
        return torch.addcmul(self.shift, normal, self.scale).view(h.shape)


class HookPoint(nn.Identity):
    """A named place in a model. PyTorch's hooks that are registered here see its values, and may replace them.

    Hooks see the values of an ensemble of one, without the dimension of models.

    Attributes:
        name: Its place, such as ``blocks.0.attn.hook_pattern``.
    """

    name = ""

    @property
    def is_watched(self) -> bool:
        """True if there are hooks."""
        return bool(self._forward_hooks)

    def __call__(self, values: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
        """Return the values, or their replacement by hooks."""
        return super().__call__(values.squeeze(0)).unsqueeze(0) if self._forward_hooks else values


def name_hook_points(module: nn.Module, place: str = "") -> None:
    """Name the hook points of a module after the modules that they are in, as TransformerLens calls these.

    A module is called as its attribute in the one around it, or by its class's ``CALLED``; "" for no name of its own.
    """
    for key, child in module.named_children():
        if isinstance(child, HookPoint):
            child.name = place + key
            module.__dict__[key] = child  # found faster than among submodules, in each step
        else:
            called = getattr(child, "CALLED", key)
            name_hook_points(child, f"{place}{called}." if called else place)


class GELU(nn.GELU):
    """The nonlinearity of an MLP, between two hook points."""

    CALLED = ""

    def __init__(self):
        super().__init__()
        self.hook_pre, self.hook_post = HookPoint(), HookPoint()

    def forward(self, input: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
        return self.hook_post(super().forward(self.hook_pre(input)))


class MLP(nn.Sequential):
    """An MLP with one hidden layer."""

    def __init__(self, models: int, width: int, hidden: int, out: int):
        super().__init__(Linear(models, width, hidden), GELU(), Linear(models, hidden, out))


class Members:
    """M models of an ensemble, called together.

    They take x [B, L] and positions [B, P] on any device, or [M, ...] for each model its own, and return a number or
    logits over the vocabulary for each place of x. The ensemble gets the further arguments ``more``.
    """

    def __init__(self, ensemble: nn.Module, indices: Sequence[int]):
        self.ensemble, self.encoding, self.count = ensemble, cast("Encoding", ensemble.encoding), len(indices)
        first, last = indices[0], indices[-1] + 1
        # A slice keeps a model's place in memory, on which rounding depends.
        chosen = slice(first, last) if list(indices) == list(range(first, last)) else list(indices)
        self.parameters = {name: values[chosen] for name, values in ensemble.named_parameters()}

    @property
    def device(self) -> torch.device:
        """The device of the ensemble."""
        return next(iter(self.parameters.values())).device

    def __call__(
        self, x: Int[Tensor, "*M B L"], positions: Int[Tensor, "*M B P"] | None = None, **more: Any
    ) -> Float[Tensor, "..."]:
        inputs = (each if each is None else each.to(self.device).expand(self.count, -1, -1) for each in (x, positions))
        return torch.func.functional_call(self.ensemble, self.parameters, tuple(inputs), more).to(x.device)


class Member(Members):
    """One model of an ensemble, called as a model of its own: it returns [B, n, *V]."""

    def __init__(self, ensemble: nn.Module, index: int):
        super().__init__(ensemble, [index])

    def __call__(
        self, x: Int[Tensor, "B L"], positions: Int[Tensor, "B P"] | None = None, **more: Any
    ) -> Float[Tensor, "B n *V"]:
        return super().__call__(x, positions, **more)[0]


def call_each(
    ensemble: nn.Module, x: Int[Tensor, "E B L"], positions: Int[Tensor, "E B P"] | None
) -> Float[Tensor, "E B n *V"]:
    """Return the outputs of an ensemble whose models are called one after the other."""
    places = [None] * len(x) if positions is None else positions
    return torch.stack([Member(ensemble, e)(x[e], places[e]) for e in range(len(x))])
