"""Encodings that see what the model computes, and learned functions of the distance, each against loops over tokens."""

import math
from functools import partial

import pytest
import torch

from support import models
from support.models import ARGUMENTS, DIMS, build, model, randoms, symbols
from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims

T = 6
triangle = partial(models.triangle, tokens=T)


def biases(encoding) -> torch.Tensor:
    place = torch.arange(T)
    return encoding.bias(place.view(1, 1, -1, 1), place.view(1, 1, 1, -1).expand(1, 1, T, T)).tril()[0, 0]


def test_forget_gates_by_hand():
    fox, h = build("fox"), randoms(1, 1, T, 8)
    fox.gates.bias.data += 0.3
    weight, bias = fox.gates.weight[0].detach(), fox.gates.bias[0, 0].detach()
    logs = [[math.log(torch.sigmoid(h[0, 0, t] @ weight[:, n] + bias[n])) for n in range(2)] for t in range(T)]
    expected = triangle(lambda n, i, j: sum(logs[t][n] for t in range(j + 1, i + 1)))
    sums = fox.locate(h, torch.arange(T).view(1, 1, -1), lambda values: values.cumsum(2))
    torch.testing.assert_close(fox.bias(sums.unsqueeze(3), sums.unsqueeze(2)).tril()[0, 0], expected)


@pytest.mark.parametrize("table", [3, 64])
def test_contextual_positions_by_hand(table):
    cope, q, k = build("cope", table=table), randoms(1, 1, 2, T, 4), randoms(1, 1, 2, T, 4).flip(-1)
    vectors = cope.vectors[0].tolist()

    def logit(n, i, j):
        def product(a: list, b: list) -> float:
            return sum(x * y for x, y in zip(a, b, strict=True)) / 2

        of = [product(q[0, 0, n, i].tolist(), k[0, 0, n, t].tolist()) for t in range(T)]
        p = min(sum(1 / (1 + math.exp(-of[t])) for t in range(j, i + 1)), table - 1)
        low, high = (product(q[0, 0, n, i].tolist(), vectors[each]) for each in (math.floor(p), math.ceil(p)))
        return of[j] + (1 - p % 1) * low + p % 1 * high

    mask = torch.ones(T, T, dtype=torch.bool).tril()
    found = cope.adjust(q @ k.mT / 2, q, mask, None)
    torch.testing.assert_close(found.tril()[0, 0], triangle(logit), rtol=1e-4, atol=1e-5)


def test_threshold_attention_by_hand():
    made, h = build("threshold").requires_grad_(False), randoms(1, 1, T, 8)
    q, k = randoms(1, 1, T, 2, 4), randoms(1, 1, T, 2, 4).flip(2) - 0.4
    made.gates.bias.data -= 0.5
    gates = made.locate(h, torch.arange(T).view(1, 1, -1), lambda values: values)
    mask = torch.ones(T, T, dtype=torch.bool).tril()
    rotated, keys = made.rotate(q, gates).transpose(2, 3), made.rotate_keys(k, gates).transpose(2, 3)
    adjusted = made.adjust(rotated @ keys.mT / 2, rotated, mask, None).masked_fill(~mask, -math.inf).requires_grad_()
    found = made.weigh(adjusted)

    def normal(v: torch.Tensor) -> torch.Tensor:
        return v / v.square().mean().sqrt()

    empty = 0
    for n in range(2):
        for i in range(T):
            products = [(normal(q[0, 0, i, n]) @ normal(k[0, 0, j, n])).item() / 2 for j in range(i + 1)]
            gate = torch.sigmoid(h[0, 0, i] @ made.gates.weight[0, :, n] - 0.5).log().item()
            seen = [j for j in range(i + 1) if products[j] > 0]
            shares = {j: math.exp(products[j] + gate * sum(t >= j for t in seen)) for j in seen}
            weights = [shares.get(j, 0.0) / (sum(shares.values()) or 1.0) for j in range(T)]
            torch.testing.assert_close(found[0, 0, n, i], torch.tensor(weights))
            empty += not seen
    assert empty > 0
    found.square().sum().backward()
    assert adjusted.grad.isfinite().all()


def test_adaptive_biases_by_hand():
    dape, products = build("dape", hidden=3, inner={"name": "alibi"}), randoms(1, 2, 2, T, T)
    biases = dape.bias(torch.arange(T).view(1, 1, -1, 1), torch.arange(T).view(1, 1, 1, -1).expand(1, 1, T, T))
    found = dape.adjust(products + biases, products, torch.ones(T, T).tril().bool(), biases)
    up, down = torch.cat((dape.of_logits, dape.of_bias), 3)[0, 0], dape.down[0, 0]
    for row in range(2):
        for i in range(T):
            for j in range(i + 1):
                a, b = products[0, row, :, i, j], -(i - j) * torch.tensor([2.0**-4, 2.0**-8])
                hidden = up @ torch.cat((a, b)) + dape.up_bias[0, 0, :, 0, 0]
                made = down @ torch.where(hidden > 0, hidden, 0.01 * hidden) + dape.down_bias[0, 0, :, 0, 0]
                torch.testing.assert_close(found[0, row, :, i, j], a + b + made)


def test_adaptive_biases_leave_windows_as_they_are(monkeypatch):
    monkeypatch.setitem(ARGUMENTS["window"], "inner", {"name": "dape", "hidden": 3, "inner": {"name": "alibi"}})
    net = model("window", depth=1)
    output = net(symbols())
    output.sum().backward()
    assert output.isfinite().all()
    assert all(each.grad.isfinite().all() for each in net.parameters())


def test_stick_breaking_by_hand():
    logits = randoms(1, 1, 2, T, T)
    masked = logits.masked_fill(~torch.ones(T, T, dtype=torch.bool).tril(), -math.inf).requires_grad_()
    taken = logits.sigmoid()[0, 0].tolist()
    shares = triangle(lambda n, i, j: (j < i) * taken[n][i][j] * math.prod(1 - taken[n][i][k] for k in range(j + 1, i)))
    found = build("stick_breaking").weigh(masked)
    torch.testing.assert_close(found[0, 0], shares)
    found.square().sum().backward()
    assert masked.grad.isfinite().all()


def test_kernels_of_the_distance_by_hand():
    kerple = build("kerple")
    kerple.a.data[0, 0, 1] = -1.0  # counts as 0.01
    p, a = kerple.p.flatten().tolist(), [kerple.a[0, 0, 0].item(), 0.01]
    torch.testing.assert_close(biases(kerple), triangle(lambda n, i, j: -p[n] * math.log(1 + a[n] * (i - j))))
    kerple.bias(torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 1, 1)).sum().backward()
    assert (kerple.a.grad != 0).all()
    assert ((build("kerple", Dims(8, 2, 500)).p > 1).float().mean() - 0.5).abs() < 0.1


@pytest.mark.parametrize("threshold", [2.0, 512.0])
def test_fire_by_hand(threshold):
    fire = build("fire", threshold=threshold, hidden=3)
    up, up_bias = fire.up.flatten().tolist(), fire.up_bias.flatten().tolist()

    def bias(n, i, j):
        x = math.log(1 + 0.1 * (i - j)) / (math.log(1 + 0.1 * max(i, threshold)) + 1e-6)
        hidden = [max(0.0, w * x + b) for w, b in zip(up, up_bias, strict=True)]
        return sum(h * fire.down[0, k, n].item() for k, h in enumerate(hidden)) + fire.down_bias[0, 0, n].item()

    torch.testing.assert_close(biases(fire), triangle(bias))


@pytest.mark.parametrize("learned", [True, False])
def test_logits_grow_with_the_logarithm_of_the_keys(learned):
    inner = {"name": "rerope", "base": 100.0, "window": 4, "trained": 3, "scaled": True}
    plain, scaled = build("ssmax", learned=learned, scale=0.5), build("ssmax", learned=learned, inner=inner)
    scaled.scales.data[..., 1] = 2.0
    n = torch.arange(1.0, 5.0)
    places = torch.arange(4).view(1, 1, -1)
    assert plain.scales.requires_grad == learned
    torch.testing.assert_close(plain.sharpen(places)[0, 0], 0.5 * n.log()[:, None].expand(4, 2))
    of_inner = (n.log() / math.log(3)).clamp(min=1)
    expected = torch.stack((0.43 * n.log() * of_inner, 2 * n.log() * of_inner), -1)
    torch.testing.assert_close(scaled.sharpen(places)[0, 0], expected, check_dtype=False)


def test_log_n_keeps_the_share_of_the_largest_logit():
    # Of n keys, one has the logit 1 and the others 0: softmax gives it e / (e + n - 1), which vanishes. Times log n it
    # is n / (n + n - 1), which does not.
    scale = build("ssmax", learned=False, scale=1.0).sharpen(torch.arange(1000).view(1, 1, -1))[0, 0, :, 0]
    for n in (10, 1000):
        logits = torch.zeros(n)
        logits[0] = 1
        assert (scale[n - 1] * logits).softmax(0)[0].item() == pytest.approx(n / (2 * n - 1), rel=1e-5)


@pytest.mark.parametrize("name", ["fox", "cope", "fire", "dape", "threshold", "ssmax", "pope", "transformer_xl"])
def test_each_layer_has_its_own(name):
    net = model(name, depth=3)
    assert len({id(each) for each in net.encodings()}) == 3
    net(symbols()).sum().backward()
    assert all(each.grad is not None for each in net.encoding.parameters())


@pytest.mark.parametrize("name", ["window", "ssmax"])
def test_gates_are_no_positions_for_others(name):
    with pytest.raises(InputError, match="encoding.inner=fox: has no positions"):
        build(name, DIMS, inner={"name": "fox"})


def test_hard_alibi_by_hand():
    found = biases(build("hard_alibi", Dims(12, 6), share=0.5))
    for n in range(6):
        for i in range(T):
            for j in range(i + 1):
                assert found[n, i, j] == (-math.inf if n < 3 and i - j > n else 0)
