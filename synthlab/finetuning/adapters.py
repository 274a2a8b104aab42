"""Low-rank adapters (LoRA): fine-tuning with few trained parameters, while all others are frozen, perhaps in 4 bits.

A weight W becomes W + (alpha / rank) A B (Hu et al., 2022, arXiv 2106.09685, section 4.1), with B = 0 at first. Weights
of a 4-bit base are rounded to its values, but stored as ordinary floats.
"""

import math
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Float
from pydantic import Field, PositiveFloat
from torch import Tensor, nn
from torch.nn import functional as F

from synthlab.models.encodings.base import encoding_of
from synthlab.models.layers import Generators, LayerNorm, Linear
from synthlab.runs.registry import Registry
from synthlab.runs.run import Count

BLOCK = 64  # number of weights that share a scale (Dettmers et al., 2023, section 4)
OFFSET = 0.9677083  # the outermost probability, from the authors' code: the mean of 1 - 1/30 and 1 - 1/32
Layer = Literal["queries", "keys_values", "output", "mlp", "head"]
Others = Literal["embeddings", "norms"]


class LoRA:
    """The settings of adapters; ``conf/lora/lora.yaml`` describes each."""

    def __init__(
        self,
        rank: Count,
        alpha: PositiveFloat,
        layers: Annotated[list[Layer], Field(min_length=1)],
        train: list[Others],
        base: Literal["full", "nf4"],
    ):
        self.rank, self.scale, self.base = rank, alpha / rank, base
        self.layers, self.train = frozenset(layers), frozenset(train)


class AdaptedModel:
    """An ensemble of E models with adapters, called like the ensemble; the ensemble changes only in ``merge``.

    Each model's A [inputs, rank] is drawn with its own generator, uniformly within +-1 / sqrt(inputs), as in the
    library PEFT; B [rank, outputs] is 0.
    """

    def __init__(self, ensemble: nn.Module, settings: LoRA, generators: Generators):
        self.ensemble, self.scale = ensemble, settings.scale
        self.base: dict[str, Tensor] = {}  # W by name, for weights that have an adapter
        self.factors: dict[str, tuple[nn.Parameter, nn.Parameter]] = {}
        for name, module in ensemble.named_modules():
            if isinstance(module, Linear) and settings.layers & set(name.split(".")):
                weight = module.weight.detach()
                quantized = settings.base == "nf4"
                self.base[f"{name}.weight"] = nearest_normal_float(weight) if quantized else weight.clone()
                self.factors[f"{name}.weight"] = _factors(weight, settings.rank, generators)
        norms = [module for module in ensemble.modules() if isinstance(module, LayerNorm)]
        kinds = {"embeddings": [ensemble.token_embeddings], "norms": nn.ModuleList(norms).parameters()}
        others = [parameter for kind in settings.train for parameter in kinds[kind]]
        # An extension's weights are new, and always trained.
        self.trained = {id(parameter) for parameter in (*others, *encoding_of(ensemble).parameters())}

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        weights = {
            name: parameter if id(parameter) in self.trained else parameter.detach()
            for name, parameter in self.ensemble.named_parameters()
        }
        return torch.func.functional_call(self.ensemble, weights | self.weights(), args, kwargs)

    def parameters(self) -> list[nn.Parameter]:
        """Return the trained parameters: the adapters and the weights of the position encoding.

        If the settings say so, embeddings and normalizations are trained as well.
        """
        adapters = [factor for pair in self.factors.values() for factor in pair]
        return adapters + [each for each in self.ensemble.parameters() if id(each) in self.trained]

    def weights(self) -> dict[str, Float[Tensor, "E i o"]]:
        """Return W + (alpha / rank) A B of each weight that has an adapter, by its name."""
        return {name: torch.baddbmm(self.base[name], a, b, alpha=self.scale) for name, (a, b) in self.factors.items()}

    @torch.no_grad()
    def merge(self) -> None:
        """Write the present weights into the ensemble. Training may continue afterwards."""
        parameters = dict(self.ensemble.named_parameters())
        for name, weight in self.weights().items():
            parameters[name].copy_(weight)


def _factors(weight: Tensor, rank: int, generators: Generators) -> tuple[nn.Parameter, nn.Parameter]:
    models, inputs, outputs = weight.shape
    drawn = [torch.empty(inputs, rank).uniform_(-1, 1, generator=each) / math.sqrt(inputs) for each in generators]
    a, b = torch.stack(drawn).to(weight.device), weight.new_zeros(models, rank, outputs)
    return nn.Parameter(a), nn.Parameter(b)


def normal_float_levels() -> Float[Tensor, "16"]:
    """Return the 16 values of NF4, ascending.

    They are quantiles of the normal distribution, divided by the largest, computed as in the authors' library
    bitsandbytes. Source: Dettmers et al., 2023, arXiv 2305.14314, section 3 and appendix E.

    Example:
        >>> from synthlab.finetuning.adapters import normal_float_levels
        >>> [round(value, 3) for value in normal_float_levels().tolist()][6:10]
        [-0.091, 0.0, 0.08, 0.161]
    """
    positive, negative = (
        torch.special.ndtri(torch.linspace(OFFSET, 0.5, count, dtype=torch.float64)[:-1]) for count in (9, 8)
    )
    values = torch.cat((positive, torch.zeros(1, dtype=torch.float64), -negative)).sort().values
    return (values / values.abs().max()).float()


def nearest_normal_float(weights: Float[Tensor, "E *N"]) -> Float[Tensor, "E *N"]:
    """Quantize the weights of each of E models to NF4 and back.

    Each weight becomes the nearest of 16 values times the largest absolute weight of its block of 64, row by row.
    Scales are 32-bit: there is no double quantization.

    Example:
        >>> import torch
        >>> from synthlab.finetuning.adapters import nearest_normal_float
        >>> [round(value, 4) for value in nearest_normal_float(torch.tensor([[2.0, 0.15, -0.9]]))[0].tolist()]
        [2.0, 0.1592, -0.7898]
    """
    rows = weights.flatten(1)
    blocks = F.pad(rows, (0, -rows.shape[1] % BLOCK)).unflatten(1, (-1, BLOCK))
    scale = blocks.abs().amax(-1, keepdim=True)
    values = normal_float_levels().to(weights)
    between = (values[1:] + values[:-1]) / 2
    found = values[torch.bucketize((blocks / scale.clamp(min=torch.finfo(scale.dtype).tiny)).contiguous(), between)]
    return (found * scale).flatten(1)[:, : rows.shape[1]].view(weights.shape)


ADAPTERS = Registry("lora", LoRA, {"lora": LoRA})
