"""OutRep: invertible maps of the target (paper, section 3)."""

from synthlab.config.registry import Registry
from synthlab.regression.outrep.base import Interval, OutRep, OutRepModule, Values
from synthlab.regression.outrep.chosen import Chosen
from synthlab.regression.outrep.fixed import Identity, Log, Power, Reciprocal, Rlog, Rsqrt, Sqrt
from synthlab.regression.outrep.learned import BoxCox, LearnedOutRep, Monotone

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
    call="Class(shift=..., **settings)",
)
