"""OutRep: invertible maps of the target (paper, section 3)."""

from synthlab.numbers.outrep.base import Interval, OutRep, OutRepModule, Values
from synthlab.numbers.outrep.chosen import Chosen
from synthlab.numbers.outrep.fixed import Identity, Log, Power, Reciprocal, Rlog, Rsqrt, Sqrt
from synthlab.numbers.outrep.learned import BoxCox, LearnedOutRep, Monotone
from synthlab.runs.registry import Registry

__all__ = ["OUTREPS", "Chosen", "Interval", "LearnedOutRep", "OutRep", "OutRepModule", "Values"]

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
