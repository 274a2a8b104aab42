"""How many models a study of correlations takes, by hand and simulated."""

from statistics import NormalDist

import numpy as np
import pytest

from experiments.correlations import Correlation, difference, jackknife, pearson, student
from experiments.long_short_alignment.power import power


@pytest.mark.parametrize("number", [14, 56])
def test_a_study_finds_what_its_power_says(number):
    """Of 500 studies the share that finds the lead that there is, and what such a study says of it, in the median: the
    share has a standard error of 0.02, and what is said may be 0.08 too careful."""
    together = np.array([[1, 0.3, 0.7], [0.3, 1, 0.4], [0.7, 0.4, 1]])
    drawn = np.random.default_rng(1).multivariate_normal(np.zeros(3), together, size=(500, number))
    measured = jackknife([drawn[..., 0], drawn[..., 1]], drawn[..., 2], np.arange(number), pearson)
    value, low, high = difference(measured)
    said = [power(Correlation(*each), number, 0.3).found for each in zip(value, low, high, strict=True)]
    assert np.mean(low > 0) == pytest.approx(np.median(said), abs=0.1)


def test_power_by_hand():
    measured = Correlation(0.1, 0.05, 0.1 + student(24) * 0.05)  # of 25, with a standard error of 0.05
    found = power(measured, 25, 0.2)
    assert found.smallest == pytest.approx((student(24) + 0.8416) * 0.05, abs=1e-4)
    assert found.found == pytest.approx(NormalDist().cdf(0.2 / 0.05 - student(24)))
    # of 14: (2.160 + 0.842) * 0.05 * sqrt(25 / 14) = 0.2006; of 15: (2.145 + 0.842) * 0.05 * sqrt(25 / 15) = 0.193
    assert found.needed == 15
    assert power(measured, 25, found.smallest).found == pytest.approx(0.8)
    assert np.isnan(power(measured, 25, 1e-4).needed)
    assert all(np.isnan(power(Correlation(0.1, np.nan, np.nan), 4, 0.2)))
    assert all(np.isnan(power(Correlation(0.0, 0.0, 0.0), 25, 0.2)))  # of a predictor over itself
