"""What a language model reads and where, in training with a sampler."""

import pytest
import torch

from support.configs import small
from synthlab.language.languages import TASKS
from synthlab.language.objective import WindowLoss
from synthlab.models.encodings import NoPE
from synthlab.models.encodings.base import Dims
from synthlab.positions.samplers import SAMPLERS
from synthlab.rng import stream

VOCABULARY = 256
GATHERED = [("positions=pose", "positions.text=3"), ("positions=cream", "positions.text=1")]


class Recorder(torch.nn.Module):
    """Notes what it is given; its answers are one for all tokens but the third."""

    def __init__(self):
        super().__init__()
        self.encoding = NoPE(Dims(16, 2))
        self.seen = []

    def forward(self, tokens, positions):
        self.seen.append((tokens, positions))
        logits = torch.zeros(*tokens.shape, VOCABULARY)
        logits[..., 2, :] = torch.nn.functional.one_hot(tokens[..., 3], VOCABULARY) * 100.0
        return logits


def recorded(configs, steps=2):
    model = Recorder()
    objective = WindowLoss(model, configs)
    losses = [objective() for _ in range(steps)]
    return losses, [torch.stack(parts) for parts in zip(*model.seen, strict=True)]


@pytest.mark.parametrize("settings", GATHERED)
def test_tokens_come_from_their_places(settings):
    config = small(*settings)
    losses, (tokens, positions) = recorded([config])
    language, sampler = TASKS.build(config.task), SAMPLERS.build(config.positions)
    texts, places = stream(config.seed, "training"), stream(config.seed, "positions")
    for found, placed, loss in zip(tokens[:, 0], positions[:, 0], losses, strict=True):
        text = language.draw(4, sampler.text_length(8), texts)
        window = sampler.window(4, 8, places)
        assert torch.equal(found, text.gather(1, window.places))
        assert torch.equal(placed, window.positions)
        # Of seven targets the third is certain, the others are one of 256.
        assert loss.item() == pytest.approx(6 / 7 * torch.tensor(256.0).log().item(), rel=1e-4)


@pytest.mark.parametrize("name", sorted(set(SAMPLERS) - {"contiguous"}))
def test_contiguous_windows_keep_their_tokens(name):
    _, (tokens, positions) = recorded([small(f"positions={name}")])
    model = Recorder()
    objective = WindowLoss(model, [small()])
    for found in tokens:
        objective()
        assert torch.equal(found, model.seen[-1][0])
    assert not torch.equal(positions[0], positions[1])


@pytest.mark.parametrize(
    "settings", [("positions=cream", "positions.shared=6"), ("positions=clex",), *GATHERED], ids=" ".join
)
def test_each_model_of_an_ensemble_reads_what_it_reads_alone(settings):
    configs = [small(*settings, f"seed={seed}") for seed in (0, 1)]
    _, together = recorded(configs, steps=3)
    for index, config in enumerate(configs):
        _, alone = recorded([config], steps=3)
        for found, expected in zip(together, alone, strict=True):
            assert torch.equal(found[:, index], expected[:, 0])
    assert not torch.equal(together[1][:, 0], together[1][:, 1])


@pytest.mark.parametrize("name", ["pose", "cream"])
def test_both_windows_of_a_text_have_the_same_positions(name):
    model = Recorder()
    config = small(f"positions={name}", "alignment.windows=2", "alignment.alpha=0.1")
    WindowLoss(model, [config])()
    (first, one), (second, other) = model.seen
    assert torch.equal(one, other)
    assert not torch.equal(first, second)
    assert one.max() >= 8


def test_a_first_training_before_another_has_no_sampler():
    config = small("positions=pose", "positions.text=3", "extension=pi", "finetune.steps=2")
    assert config.pretraining == small("extension=pi", "finetune.steps=2").pretraining
    model = Recorder()
    WindowLoss(model, [config])()
    assert model.seen[0][1] is None
