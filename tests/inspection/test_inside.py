"""What a trained model computes inside, asked of the model."""

import pytest
import torch

from support.configs import config, small
from support.records import opened
from synthlab.errors import InputError
from synthlab.inspection import zero_head
from synthlab.training.trained import TrainedModel

TINY = ("model.width=8", "model.heads=2", "model.depth=2", "protocol.steps=2", "protocol.record_every=1")


def trained(*overrides: str) -> TrainedModel:
    return opened(config(*TINY, *overrides))


@pytest.mark.parametrize("name", ["rope", "randomized"])  # of all: test_hooked.py
def test_looking_inside_leaves_the_answers_as_they_are(name):
    model = trained(f"encoding={name}", "task=length", "outrep=rsqrt")
    expected, (prediction, activations) = model.predict(["0110", "1111"]), model.run_with_cache(["0110", "1111"])
    torch.testing.assert_close(prediction.answer, expected.answer, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(prediction.output, expected.output, rtol=1e-4, atol=1e-5)
    assert activations.tokens == [["BOS", *"0110", "EOS"], ["BOS", *"1111", "EOS"]]
    assert torch.equal(activations["hook_out"][:, -1, 0], prediction.output)


def test_of_language_models_the_same():
    for overrides in (["task=hidden_markov"], ["task=recall", "encoding=randomized"]):
        model = opened(small(*overrides))
        tokens = torch.tensor([[3, 1, 0, 2, 5]])
        prediction, activations = model.run_with_cache(tokens)
        torch.testing.assert_close(prediction.output, model.predict(tokens).output)
        assert activations.tokens == [["3", "1", "0", "2", "5"]]
        assert activations["pattern", 0].shape[-2:] == (5, 5)


def test_short_names_of_activations():
    _, activations = trained().run_with_cache(["0110"])
    assert activations["pattern", 1] is activations["blocks.1.attn.hook_pattern"]
    assert activations["post", 0] is activations["blocks.0.mlp.hook_post"]
    assert activations["resid_post", 1].shape == (1, 6, 8)
    lines = repr(activations).splitlines()
    assert len(lines) == len(activations)
    assert lines[0].split(maxsplit=1) == ["hook_embed", "[1, 6, 8]"]
    with pytest.raises(InputError, match=r"name=.*: unknown"):
        activations["nothing", 0]


def test_hooks_change_answers():
    model = trained("task=sum")
    plain = model.predict(["0110"]).output
    silenced = model.run_with_hooks(["0110"], [zero_head(0, 0), zero_head(0, 1)]).output
    assert not torch.allclose(plain, silenced)
    torch.testing.assert_close(model.run_with_hooks(["0110"], []).output, plain)
    torch.testing.assert_close(model.predict(["0110"]).output, plain)


def test_sequences_of_several_lengths_are_refused():
    with pytest.raises(InputError, match="sequences: have lengths 2, 3; "):
        trained().run_with_cache(["01", "011"])


def test_models_without_layers_are_refused():
    model = opened(config("model=linear", "protocol.steps=2", "task=mean"))
    with pytest.raises(InputError, match="model: LinearAttention has no named layers to inspect"):
        model.run_with_cache(["01"])


def test_attention_is_drawn_for_each_head(tmp_path):
    model = trained("task=sum")
    figure = model.plot_attention("0110", tmp_path / "attention.png")
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert [axes.get_title() for axes in panels] == [f"layer {i}, head {j}" for i in (0, 1) for j in (0, 1)]
    assert [label.get_text() for label in panels[-1].get_xticklabels()] == ["BOS", *"0110", "EOS"]
    pattern = model.run_with_cache(["0110"])[1]["pattern", 1][0, 1]
    assert torch.equal(torch.tensor(panels[-1].images[0].get_array().data), pattern)
    assert [path.name for path in tmp_path.iterdir()] == ["attention.png"]
