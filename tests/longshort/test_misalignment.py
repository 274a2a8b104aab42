import math

import pytest
import torch

from support.frequencies import generator
from support.token_models import Everything, Suffixes, texts
from synthlab.errors import InputError
from synthlab.longshort.misalignment import Estimate, divergence, last_logits, misalignment


def test_an_estimate_by_hand():
    found = Estimate.from_values(torch.tensor([1.0, 2.0, 3.0, 6.0]))
    assert found.value == 3
    assert found.error == pytest.approx(math.sqrt(14 / 3 / 4))
    assert Estimate.from_values(torch.tensor([2.0])) == (2.0, math.inf)


def test_last_logits_are_those_of_the_suffix_alone():
    model, x = Everything(), texts(7, 12)
    lengths = torch.tensor([3, 12, 5, 3, 9, 5, 5])
    found = last_logits(model, x, lengths, batch=2)
    for row, length, logits in zip(x, lengths.tolist(), found, strict=True):
        assert torch.allclose(logits, model(row[None, -length:])[0, -1].float())


@pytest.mark.parametrize("form", ["last", "overlap"])
def test_no_excess_within_the_shorter_context(form):
    found = misalignment(Suffixes(4), texts(50, 12), 4, 8, generator(), form=form)
    assert found.excess.value == pytest.approx(0, abs=1e-6)
    assert found.sce.value > 0.5  # entropy
    sees_more = misalignment(Suffixes(5), texts(50, 12), 4, 8, generator(), form=form)
    assert sees_more.excess.value > 0.01


@pytest.mark.parametrize("form", ["last", "overlap"])
def test_estimate_by_brute_force(form):
    model, x, low, high = Everything(), texts(4000, 12), 3, 6
    found = misalignment(model, x, low, high, generator(), form=form)

    def between(a, b):
        return divergence(model(a)[:, -1], model(b)[:, -1]).excess

    if form == "last":
        lengths = range(low, high + 1)
        exact = [between(x[:, -a:], x[:, -b:]).mean() for a in lengths for b in lengths]
    else:
        exact = []
        for extra in range(1, high - low + 1):
            ends = range(extra + low - 1, high)
            exact.append(torch.stack([between(x[:, : t + 1], x[:, extra : t + 1]) for t in ends]).mean())
    assert found.excess.value == pytest.approx(torch.stack(exact).mean().item(), abs=4 * found.excess.error)


def test_standard_error_by_simulation():
    model = Everything()
    found = [misalignment(model, texts(400, 8 + k)[:, -8:], 4, 8, generator(k)) for k in range(40)]
    means = torch.tensor([each.excess.value for each in found])
    assert found[0].excess.error == pytest.approx(means.std().item(), rel=0.5)


@pytest.mark.parametrize(
    ("low", "high", "form", "line"),
    [(4, 4, "overlap", "low=4: "), (4, 9, "last", "texts: have 8 .* 9"), (4, 7, "overlap", "texts: have 8 .* 10")],
)
def test_lengths_that_do_not_fit_are_refused(low, high, form, line):
    with pytest.raises(InputError, match=line):
        misalignment(Everything(), texts(3, 8), low, high, generator(), form=form)
