"""OutRep: invertible maps of the target (paper, section 3)."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from synthlab.models.building import check_parameters
from synthlab.numbers.outrep.base import Interval, OutRep, OutRepModule, Values
from synthlab.numbers.outrep.chosen import Chosen
from synthlab.numbers.outrep.fixed import Identity, Log, Power, Reciprocal, Rlog, Rsqrt, Sqrt
from synthlab.numbers.outrep.learned import BoxCox, LearnedOutRep, Monotone
from synthlab.rng import stream
from synthlab.runs.registry import Registry

__all__ = ["OUTREPS", "Chosen", "Interval", "LearnedOutRep", "OutRep", "OutRepModule", "Values", "build_map", "map_of"]

OUTREPS = Registry(
    "outrep",
    OutRep,
    {
        "identity": Identity,
        "sqrt": Sqrt,
        "log": Log,
        "rsqrt": Rsqrt,
        "reciprocal": Reciprocal,
        "rlog": Rlog,
        "power": Power,
        "box_cox": BoxCox,
        "monotone": Monotone,
        "chosen": Chosen,
    },
)


def build_map(configs: Sequence[Any]) -> OutRep:
    """Return the output map of runs that have the same; one with parameters serves all of them."""
    outrep = OUTREPS.build(configs[0].outrep)
    if isinstance(outrep, OutRepModule):
        outrep.initialise([stream(config.weight_seed, "outrep") for config in configs])
        check_parameters("outrep", configs[0], outrep, len(configs))
    return outrep


def map_of(ensemble: nn.Module, index: int, config: Any) -> OutRep:
    """Return the output map of one model, as it is now; ``config`` is the model's config."""
    outrep = getattr(ensemble, "outrep", None)
    return OUTREPS.build(config.outrep) if outrep is None else outrep.member(index)
