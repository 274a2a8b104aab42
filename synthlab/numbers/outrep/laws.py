"""Laws of maps of the target, measured on a task's own targets."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from synthlab.models.laws import Law
from synthlab.numbers.outrep.base import OutRep

APART = 1e-4  # of the targets' range


def measure_map(outrep: OutRep, targets: Float[Tensor, " N"]) -> Iterator[Law]:
    """Yield the laws of a map, measured in double precision on ``targets``, in their own units and in any order.

    Values that are no numbers miss a law entirely.
    """
    y = targets.double().unique()  # sorted
    if len(y) > 1:  # targets that single precision tells apart, in which a map may compute
        y = y[torch.cat((y[:1] < y[1:2], y.diff() > APART * (y[-1] - y[0])))]
    with torch.no_grad():
        z = outrep.forward(y)
        missed_by = (outrep.inverse(z) - y).abs() / y.abs().clamp(min=1.0)
        steps = z.diff() if outrep.increasing else -z.diff()
    yield _law("the inverse of f(y) is y, for the task's targets y", missed_by)
    way = "increases" if outrep.increasing else "decreases"
    yield _law(f"f {way} strictly over the task's targets", (steps <= 0).double())
    yield _law("f(y) lies in the image, for the task's targets y", (~outrep.image.contains(z)).double())


def _law(says: str, missed_by: Float[Tensor, " N"]) -> Law:
    worst = missed_by.nan_to_num(nan=1.0, posinf=1.0).max() if len(missed_by) else torch.zeros(())
    return Law("outrep", says, float(worst))
