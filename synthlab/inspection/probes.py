"""Linear probes: what can be read from activations by a linear map (Alain and Bengio, 2017)."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Real
from torch import Tensor

from synthlab.errors import InputError


class Probe(NamedTuple):
    """A linear map from activations to a number, as ``fit_probe`` fits it."""

    weight: Float[Tensor, " D"]
    offset: float

    def predict(self, features: Real[Tensor, "N D"]) -> Float[Tensor, " N"]:
        """Return the probe's prediction for each row, in double precision."""
        return features.double() @ self.weight + self.offset

    def r2(self, features: Real[Tensor, "N D"], targets: Real[Tensor, " N"]) -> float:
        """Return the fraction of the variance of ``targets`` that the probe explains.

        It is 1 for all of it, 0 for no more than their mean, negative for less, and NaN if all targets are equal.
        """
        if targets.shape != features.shape[:1]:
            raise InputError(f"targets: of shape {list(targets.shape)}; must be one for each of {len(features)} rows")
        targets = targets.double()
        residual, total = (targets - self.predict(features)).square().sum(), (targets - targets.mean()).square().sum()
        return float(1 - residual / total) if total else float("nan")


def fit_probe(features: Real[Tensor, "N D"], targets: Real[Tensor, " N"]) -> Probe:
    """Fit a linear probe by least squares; if several fit equally well, the one with the smallest coefficients.

    ``features`` are activations, a row for each sequence, such as ``activations["resid_post", 0][:, -1]``, and
    ``targets`` the number to predict from each. Score it on sequences other than those it is fitted to (``Probe.r2``).
    """
    features, targets = features.double().cpu(), targets.double().cpu()
    # Centred, so that only the slopes are made small, not the offset.
    middle, mean = features.mean(0), targets.mean()
    weight = torch.linalg.lstsq(features - middle, (targets - mean)[:, None], driver="gelsd").solution.squeeze(1)
    return Probe(weight, float(mean - middle @ weight))
