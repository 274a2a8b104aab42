"""Encodings that rotate queries and keys differently, or make them wider: logits against loops over pairs of tokens."""

import math
from functools import partial

import pytest
import torch

from support import models
from support.models import DIMS, at, build, model
from synthlab.models import attention

T = 6
randoms = partial(models.randoms, dtype=torch.double)
triangle = partial(models.triangle, tokens=T, dtype=torch.double)


def logits(encoding, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Products of each head's queries and keys, before scaling: [H, Q, K] for a single text."""
    q, k = encoding.rotate(q, positions), encoding.rotate_keys(k, positions)
    return torch.einsum("qhp,khp->hqk", q[0, 0], k[0, 0]).tril()


@pytest.mark.parametrize("places", [range(T), [0, 3, 4, 90, 91, 700]])
def test_xpos_by_hand(places):
    xpos, q, k = build("xpos", scale=64.0), randoms(1, 1, T, 2, 4), randoms(1, 1, T, 2, 4, seed=1)
    places = list(places)

    def logit(n, i, j):
        total, far = 0.0, places[i] - places[j]
        for pair in range(2):
            zeta, angle = (pair / 2 + 0.4) / 1.4, far * 10_000 ** (-2 * pair / 4)
            (a, b), (c, e) = (v[0, 0, t, n, 2 * pair : 2 * pair + 2].tolist() for v, t in ((q, i), (k, j)))
            total += zeta ** (far / 64) * (math.cos(angle) * (a * c + b * e) + math.sin(angle) * (a * e - b * c))
        return total

    torch.testing.assert_close(logits(xpos, q, k, at(*places)), triangle(logit))


def test_low_frequencies_are_cut_or_clipped():
    dims, rope = DIMS._replace(width=24), [10_000 ** (-2 * n / 12) for n in range(6)]
    assert build("p_rope", dims, share=0.6).frequencies(12).tolist() == pytest.approx([*rope[:3], 0, 0, 0])
    clipped = build("p_rope", dims, share=0.34, clipped=True).frequencies(12).tolist()  # 2 of 6 stay
    kept = [1, 1, 1, (1 + math.cos(math.pi / 3)) / 2, (1 + math.cos(2 * math.pi / 3)) / 2, 0]
    assert clipped == pytest.approx([f * share for f, share in zip(rope, kept, strict=True)])
    whole = build("p_rope", dims, share=1.0, clipped=True).frequencies(12)
    assert torch.equal(whole, build("rope", dims).frequencies(12))


def test_polar_positions_by_hand():
    pope, q, k, places = build("pope"), randoms(1, 1, T, 2, 4), randoms(1, 1, T, 2, 4, seed=1), [0, 3, 4, 90, 91, 700]
    pope.double().delta.data.copy_(randoms(1, 1, 1, 2, 4, seed=2) - 1)
    pope.delta.data[..., 0, 0] = 0.5  # counts as 0, and can come back

    def softplus(x):
        return math.log(1 + math.exp(x.item()))

    def logit(n, i, j):
        phases = pope.delta[0, 0, 0, n].clamp(max=0).tolist()
        angles = [(places[j] - places[i]) * 10_000 ** (-m / 4) + phases[m] for m in range(4)]
        return sum(softplus(q[0, 0, i, n, m]) * softplus(k[0, 0, j, n, m]) * math.cos(angles[m]) for m in range(4))

    found = logits(pope, q, k, at(*places))
    torch.testing.assert_close(found, triangle(logit), rtol=1e-6, atol=1e-6)
    found.square().sum().backward()
    assert (pope.delta.grad != 0).all()


def test_transformer_xl_by_its_equation():
    xl, q, k = build("transformer_xl").double(), randoms(1, 1, T, 2, 4), randoms(1, 1, T, 2, 4, seed=1)
    places = [0, 3, 4, 9, 10, 70]
    for seed, parameter in enumerate((xl.u, xl.v)):
        parameter.data.copy_(randoms(1, 1, 1, 2, 4, seed=seed))

    def logit(n, i, j):
        angles = (places[i] - places[j]) * 10_000 ** (-torch.arange(4, dtype=torch.double) / 4)
        far = xl.weight[0, n] @ torch.cat((angles.sin(), angles.cos()))
        content, place = q[0, 0, i, n] + xl.u[0, 0, 0, n], q[0, 0, i, n] + xl.v[0, 0, 0, n]
        return (content @ k[0, 0, j, n] + place @ far).item()

    torch.testing.assert_close(logits(xl, q, k, at(*places)), triangle(logit))


@pytest.mark.parametrize("name", ["pope", "transformer_xl"])
def test_logits_are_divided_by_the_root_of_the_head_width(name, monkeypatch):
    """Also where queries are wider than values, in each layout, and in fused attention."""
    net = model(name, depth=1)
    layer, h = net.blocks[0].attention, randoms(1, 1, 5, 16).float()
    q, k, v = (each.unflatten(-1, (4, 4)) for each in (layer.queries(h), *layer.keys_values(h).chunk(2, -1)))
    products = logits(net.encoding.at_layer(0), q, k, at(*range(5))) / 2
    expected = products.masked_fill(torch.ones(5, 5).triu(1).bool(), -math.inf).softmax(-1) @ v[0, 0].transpose(0, 1)
    for fused in (64, 1):
        monkeypatch.setattr(attention, "FUSED_FROM", fused)
        layout = attention.Causal.build(net.encoding, at(*range(5)), attention.causal_mask(5, h.device))
        assert layout.can_fuse() == (fused == 1)
        torch.testing.assert_close(layer(h, layout), layer.output(expected.transpose(0, 1).flatten(-2)[None, None]))
