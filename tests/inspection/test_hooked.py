"""With hooks the model computes what it computes without, and hook points see what their names say."""

import math

import pytest
import torch

from support.models import LENGTH, PAIRS, model, symbols
from synthlab.inspection.hooked import HookedTransformer, run_with_cache
from synthlab.models.encodings import ENCODINGS
from synthlab.models.packing import with_ends
from synthlab.models.reference import read

TOKENS = with_ends(symbols()[0])
SEEN = torch.ones(LENGTH + 2, LENGTH + 2, dtype=torch.bool).tril()


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_outputs_are_those_of_the_reference_with_hooks_and_without(name, kind):
    net, positions = model(name, attention=kind).double(), torch.arange(LENGTH + 2).expand(5, -1) * 2
    for places in (None, positions):
        expected = read(net, TOKENS, places)
        watched, _ = run_with_cache(HookedTransformer(net), TOKENS, places)
        for output in (HookedTransformer(net)(TOKENS, places), watched):
            torch.testing.assert_close(output, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "name", [name if name == "rope" else pytest.param(name, marks=pytest.mark.slow) for name in ENCODINGS]
)
def test_the_plain_module_can_be_exported(name):
    net = HookedTransformer(model(name))
    exported = torch.export.export(net, (TOKENS,)).module()
    torch.testing.assert_close(exported(TOKENS), net(TOKENS))


def inside(net, tokens=TOKENS):
    output, values = run_with_cache(HookedTransformer(net), tokens)
    return output, values, net.blocks[0]


@pytest.mark.parametrize("name", ENCODINGS)
def test_each_point_follows_from_those_before_it(name):
    net = model(name)
    output, values, block = inside(net)
    at = {point.removeprefix("blocks.0."): found for point, found in values.items()}
    close = torch.testing.assert_close
    close(at["hook_resid_pre"], at["hook_embed"] + at["hook_pos_embed"])
    content = torch.einsum("bqhd,bkhd->bhqk", at["attn.hook_q"], at["attn.hook_k"]) / math.sqrt(4)
    close(at["attn.hook_unmasked_scores"], content + at["attn.hook_position_scores"])
    close(at["attn.hook_attn_scores"], at["attn.hook_unmasked_scores"].masked_fill(~SEEN, -math.inf))
    close(at["attn.hook_pattern"], net.encoding.at_layer(0).weigh(at["attn.hook_attn_scores"][None])[0])
    close(at["attn.hook_z"], torch.einsum("bhqk,bkhd->bqhd", at["attn.hook_pattern"], at["attn.hook_v"]))
    per_head = at["attn.hook_z"][..., 1, :] @ block.attention.output.weight[0].unflatten(0, (4, -1))[1]
    close(at["attn.hook_result"][..., 1, :], per_head.detach())
    close(at["hook_attn_out"], (at["attn.hook_result"].sum(-2) + block.attention.output.bias[0]).detach())
    close(at["hook_resid_mid"], at["hook_resid_pre"] + at["hook_attn_out"])
    close(at["mlp.hook_post"], torch.nn.functional.gelu(at["mlp.hook_pre"]))
    close(at["hook_resid_post"], at["hook_resid_mid"] + at["hook_mlp_out"])
    close(values["blocks.1.hook_resid_pre"], at["hook_resid_post"])
    assert torch.equal(values["hook_out"], output)


def test_attention_scores_of_linear_attention_are_its_weights():
    _, values, _ = inside(model("nope", attention="linear"))
    pattern = values["blocks.0.attn.hook_pattern"]
    assert (pattern[..., ~SEEN] == 0).all()
    products = torch.einsum("bqhd,bkhd->bhqk", values["blocks.0.attn.hook_q"], values["blocks.0.attn.hook_k"])
    seen = torch.arange(1, LENGTH + 3).unsqueeze(-1)
    torch.testing.assert_close(pattern[..., SEEN], (products / seen)[..., SEEN])
