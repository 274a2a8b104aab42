"""Changes to what a model computes, and what can be read from it."""

import math

import pytest
import torch

from support.models import model, symbols
from synthlab.errors import InputError
from synthlab.inspection import fit_probe, patch, replace_head, zero_head
from synthlab.inspection.hooked import HookedTransformer, attach_hooks, run_with_cache
from synthlab.models.packing import with_ends

TOKENS = with_ends(symbols()[0])
OTHER = 1 - symbols()[0]


def outputs(net, hooks, tokens=TOKENS):
    return run_with_cache(HookedTransformer(net), tokens, hooks=hooks)[0]


def test_a_silenced_head_is_one_without_output_weights():
    net = model("rope")
    silenced = outputs(net, [zero_head(1, 2)])
    assert not torch.allclose(silenced, outputs(net, []))
    with torch.no_grad():
        net.blocks[1].attention.output.weight[0].unflatten(0, (4, -1))[2] = 0
    torch.testing.assert_close(silenced, outputs(net, []))


@pytest.mark.parametrize("tokens", [-1, [0, 3], slice(2, 5)], ids=str)
def test_a_head_is_replaced_at_some_tokens_alone(tokens):
    net = HookedTransformer(model("rope"))
    z = run_with_cache(net, TOKENS)[1]["blocks.0.attn.hook_z"]
    values = torch.arange(20.0).view(5, 4) if isinstance(tokens, int) else 3.0
    expected, silent = z.clone(), z.clone()
    expected[:, tokens, 1], silent[:, tokens, 1] = values, 0
    for hook, found in ((replace_head(0, 1, values, tokens), expected), (zero_head(0, 1, tokens), silent)):
        assert torch.equal(run_with_cache(net, TOKENS, hooks=[hook])[1]["blocks.0.attn.hook_z"], found)


def test_scores_are_patched_at_all_tokens():
    net = HookedTransformer(model("rope"))
    _, source = run_with_cache(net, with_ends(OTHER))
    for name in ("pattern", "attn_scores", "unmasked_scores", "position_scores"):
        full = f"blocks.1.attn.hook_{name}"
        with pytest.raises(InputError, match=f"^tokens=-1: must be left out at {full}, which is"):
            patch(source, full, -1)
        _, values = run_with_cache(net, TOKENS, hooks=[patch(source, full)])
        assert torch.equal(values[full], source[full])


def test_kept_values_survive_edits_in_place():
    net = HookedTransformer(model("rope"))
    plain = run_with_cache(net, TOKENS)[1]
    _, values = run_with_cache(net, TOKENS, hooks=[("blocks.1.hook_resid_pre", lambda h, _: h.zero_())])
    assert not values["blocks.1.hook_resid_pre"].any()
    assert torch.equal(values["blocks.0.hook_resid_post"], plain["blocks.0.hook_resid_post"])


def test_patching_one_token_changes_what_sees_it():
    net = HookedTransformer(model("rope"))
    _, source = run_with_cache(net, with_ends(OTHER))
    plain, _ = run_with_cache(net, TOKENS)
    patched, values = run_with_cache(net, TOKENS, hooks=[patch(source, "blocks.0.hook_resid_post", 4)])
    assert torch.equal(patched[:, :4], plain[:, :4])  # causal
    assert ((patched[:, 4:] - plain[:, 4:]).abs() > 0).all()
    stream = values["blocks.0.hook_resid_post"]
    assert torch.equal(stream[:, 4], source["blocks.0.hook_resid_post"][:, 4])


def test_hooks_are_gone_afterwards_even_after_an_error():
    net = HookedTransformer(model())
    plain = net(TOKENS)
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        run_with_cache(net, TOKENS, hooks=[zero_head(0, 4)])
    with attach_hooks(net, [("hook_out", lambda values, _: values * 0)]):
        assert not net(TOKENS).any()
    torch.testing.assert_close(net(TOKENS), plain)
    assert not any(point._forward_hooks for point in net.hook_points().values())


def test_an_unknown_place_is_refused():
    with pytest.raises(InputError, match=r"^name=blocks.2.attn.hook_z: unknown"):
        outputs(model(), [zero_head(2, 0)])


def test_a_probe_by_hand():
    # y = 1 + 2 a: the slope by least squares of (0, 1), (1, 3), (2, 5), and b, a copy of a, shares it.
    features = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    probe = fit_probe(features, torch.tensor([1.0, 3.0, 5.0]))
    assert probe.weight.tolist() == pytest.approx([1.0, 1.0])
    assert probe.offset == pytest.approx(1.0)
    assert probe.r2(features, torch.tensor([1.0, 3.0, 5.0])) == pytest.approx(1.0)
    # Residuals 0, 0, 3 of variance around 4: 1 - 9 / (9 + 1 + 16).
    assert probe.r2(features, torch.tensor([1.0, 3.0, 8.0])) == pytest.approx(1 - 9 / 26)
    assert math.isnan(probe.r2(features[:1], torch.tensor([4.0])))
