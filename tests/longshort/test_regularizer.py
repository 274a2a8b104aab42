import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.token_models import Everything, texts
from synthlab.errors import InputError
from synthlab.longshort.misalignment import divergence, symmetric_cross_entropy
from synthlab.longshort.regularizer import aligned_loss, combine_losses, draw_extra, next_token_loss
from synthlab.longshort.windows import both_contexts, extra_range, min_context

LOG2 = math.log(2)


def logits(*probabilities: float) -> torch.Tensor:
    return torch.tensor(probabilities, dtype=torch.float64).log()


def test_distances_by_hand():
    found = divergence(logits(0.5, 0.25, 0.25), logits(0.25, 0.25, 0.5))
    # -(1/2 log 1/4 + 1/4 log 1/4 + 1/4 log 1/2) = 7/4 log 2, and the same the other way round; both entropies are 3/2.
    assert found.sce.item() == pytest.approx(3.5 * LOG2)
    assert found.excess.item() == pytest.approx(0.5 * LOG2)
    assert found.kl.item() == pytest.approx(0.25 * LOG2)
    assert found.squared.item() == pytest.approx(2 / 16)
    alike = divergence(logits(0.5, 0.25, 0.25), logits(0.5, 0.25, 0.25))
    assert tuple(each.item() for each in alike) == (pytest.approx(3 * LOG2), 0, 0, 0)  # twice the entropy


def test_excluded_tokens():
    both = divergence(logits(0.5, 0.5, 0), logits(0.25, 0.75, 0))
    assert all(math.isfinite(value.item()) for value in both)
    one = divergence(logits(0.5, 0.25, 0.25), logits(0.5, 0.5, 0))
    assert one.sce.item() == one.excess.item() == one.kl.item() == math.inf
    assert math.isfinite(one.squared.item())
    assert divergence(logits(0.5, 0.5, 0), logits(0.5, 0.25, 0.25)).kl.item() == pytest.approx(0.5 * LOG2)


def test_huge_logits_are_no_trouble():
    found = divergence(torch.tensor([1e4, 0.0, 0.0]), torch.tensor([0.0, 1e4, 0.0]))
    assert found.sce.item() == pytest.approx(2e4)
    assert found.excess.item() == pytest.approx(2e4)


numbers = st.lists(st.floats(-20, 20), min_size=3, max_size=3).map(lambda x: torch.tensor(x, dtype=torch.float64))


@given(numbers, numbers, st.floats(-50, 50))
def test_laws_of_distances(p, q, shift):
    found, shifted, turned = divergence(p, q), divergence(p + shift, q - shift), divergence(q, p)
    for name in ("sce", "excess", "kl", "squared"):
        assert getattr(found, name).item() == pytest.approx(getattr(shifted, name).item(), rel=1e-6, abs=1e-9)
    for name in ("sce", "excess", "squared"):
        assert getattr(found, name).item() == pytest.approx(getattr(turned, name).item(), rel=1e-9, abs=1e-12)
    entropies = sum(-(x.softmax(-1) * x.log_softmax(-1)).sum().item() for x in (p, q))
    assert found.sce.item() == pytest.approx(found.excess.item() + entropies, abs=1e-9)
    assert found.excess.item() >= 0
    assert symmetric_cross_entropy(p, q).item() == pytest.approx(found.sce.item())


@pytest.mark.parametrize("length", range(2, 9))
def test_the_overlap_by_brute_force(length):
    for context in range(1, length + 1):
        for extra in range(1, length + 2):
            places = [
                (t, t - extra)
                for t in range(length + extra)
                if t < length and t - extra >= 0  # in both windows
                if t + 1 >= context and t - extra + 1 >= context
            ]
            if not places:
                with pytest.raises(InputError, match=f"extra={extra}: must be from 1 to {length - context}"):
                    both_contexts(length, extra, context)
                continue
            early, late = both_contexts(length, extra, context)
            assert list(zip(range(length)[early], range(length)[late], strict=True)) == places


def test_shares_become_tokens():
    assert [extra_range(64, low, high) for low, high in ((0, 0.5), (0.25, 0.5), (0, 0.05))] == [
        (1, 32),
        (16, 32),
        (1, 3),
    ]
    assert extra_range(4, 0, 0.01) == (1, 1)
    assert (min_context(64, 0.5), min_context(5, 0.5), min_context(64, 0)) == (32, 3, 1)


def test_the_offset_is_uniform_with_both_bounds():
    generator = torch.Generator().manual_seed(0)
    drawn = [draw_extra(2, 4, generator) for _ in range(3000)]
    assert set(drawn) == {2, 3, 4}
    assert all(abs(drawn.count(extra) - 1000) < 120 for extra in (2, 3, 4))


def test_the_loss_by_hand_on_three_tokens():
    # Windows [0, 1] and [1, 2] of one text: each predicts its second token; in common is place 1 after one token each.
    tokens = torch.tensor([[0, 1, 2]])
    first = logits(0.5, 0.25, 0.25).repeat(1, 2, 1)
    second = logits(0.25, 0.25, 0.5).repeat(1, 2, 1)
    loss = combine_losses(first, second, tokens, alpha=0.1, context=1)
    assert loss.training.item() == pytest.approx((2 * LOG2 + LOG2) / 2)
    assert loss.misalignment.item() == pytest.approx(3.5 * LOG2)
    assert loss.total.item() == pytest.approx(1.5 * LOG2 + 0.35 * LOG2)
    parts = [combine_losses(first, second, tokens, 0.1, 1, each).misalignment.item() for each in ("excess", "entropy")]
    assert parts == pytest.approx([0.5 * LOG2, 3 * LOG2])


def test_the_loss_compares_the_same_tokens_of_the_text():
    model, tokens, length = Everything(), texts(5, 11), 8
    loss = aligned_loss(model, tokens, length, alpha=0.3)
    by_hand = []
    for row in tokens:
        for t in range(3 + 4 - 1, 8):  # in both windows, and 4 tokens or more seen in either
            answers = [model(window[None])[0, -1] for window in (row[: t + 1], row[3 : t + 1])]
            by_hand.append(symmetric_cross_entropy(*answers))
    assert loss.misalignment.item() == pytest.approx(torch.stack(by_hand).mean().item())
    windows = torch.cat((tokens[:, :8], tokens[:, 3:]))
    assert loss.training.item() == pytest.approx(next_token_loss(model(windows), windows).item())
    assert loss.total.item() == pytest.approx(loss.training.item() + 0.3 * loss.misalignment.item())


def test_gradients_flow_through_both_windows():
    tokens = texts(2, 6)
    first, second = (torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(lambda a, b: combine_losses(a, b, tokens, 0.3, 2).total, (first, second))


def test_models_side_by_side_have_a_loss_each():
    tokens, alphas = texts(6, 6).view(2, 3, 6), torch.tensor([0.0, 0.5], dtype=torch.float64)
    model = Everything()
    together = combine_losses(model(tokens[..., :4]), model(tokens[..., -4:]), tokens, alphas, 2)
    for e, alpha in enumerate((0.0, 0.5)):
        alone = aligned_loss(model, tokens[e], 4, alpha)
        assert together.total[e].item() == pytest.approx(alone.total.item())


def test_short_texts_and_wide_offsets_are_refused():
    model = Everything()
    with pytest.raises(InputError, match="extra=0: must be from 1 to 2"):
        aligned_loss(model, texts(2, 4), 4, 0.1)
    with pytest.raises(InputError, match="extra=3: must be from 1 to 2"):
        aligned_loss(model, texts(2, 7), 4, 0.1)
