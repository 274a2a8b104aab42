"""Both windows of a text take their positions from one draw: the same window twice is no misalignment."""

import pytest
import torch

from experiments.long_short_alignment.scalar import measure_misalignment as scalar_misalignment
from support.configs import small
from support.frequencies import generator
from synthlab.language.evaluation import suffixes
from synthlab.language.languages import TASKS
from synthlab.language.objective import WindowLoss, random_positions
from synthlab.language.training import build_models
from synthlab.longshort.misalignment import last_logits, misalignment
from synthlab.longshort.regularizer import aligned_loss
from synthlab.models.layers import Member
from synthlab.rng import stream


def texts(rows: int, length: int) -> torch.Tensor:
    return torch.randint(5, (rows, length), generator=generator())


def draw(tokens: torch.Tensor) -> torch.Tensor:
    """Sorted, and different for each text and draw."""
    return torch.rand(tokens.shape[0], 40).argsort(1)[:, : tokens.shape[1]].sort(1).values


def by_position(tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Logits that are decided by a token and its position: windows that share them agree, all others do not."""
    return torch.sin(torch.arange(5.0) * (1 + tokens + 7 * positions).unsqueeze(-1))


@pytest.mark.parametrize("name", ["rope", "learned", "fox", "dynamic_ntk", "randomized"])  # the last draws positions
def test_equal_windows_have_no_excess(name):
    config = small(f"encoding={name}")
    ensemble, x = build_models([config]), TASKS.build(config.task).draw(20, 8, generator(), held_out=True)
    draws = ensemble.encoding.draws_positions
    positions = random_positions(ensemble.encoding, *x.shape, generator(1)) if draws else None
    with torch.no_grad():
        found = misalignment(Member(ensemble, 0), x, 8, 8, generator(2), positions=positions)
    assert found.excess.value == pytest.approx(0, abs=1e-9)
    assert found.sce.value > 0.5  # entropy


@pytest.mark.parametrize("form", ["last", "overlap"])
def test_windows_keep_the_positions_of_their_tokens(form):
    x = texts(50, 12)
    found = misalignment(by_position, x, 4, 8, generator(), form=form, positions=draw(x))
    assert found.excess.value == 0
    apart = misalignment(lambda tokens: by_position(tokens, draw(tokens)), x, 4, 8, generator(), form=form)
    assert apart.excess.value > 0.1


def test_drawn_positions_are_measured_under_one_draw():
    config = small("encoding=randomized", "evaluation.sequences=64")
    language, encoding = TASKS.build(config.task), build_models([config]).encoding

    def decided(tokens, positions=None):
        where = drawing(tokens) if positions is None else positions
        return by_position(tokens[0] % 5, where[0]).unsqueeze(0)

    def drawing(tokens):
        return random_positions(encoding, *tokens[0].shape, places).unsqueeze(0)

    places = stream(0, "evaluation_positions")
    found = suffixes(decided, language, [config], drawing)[0]
    assert (found["excess"], found["excess_overlap"]) == (0, 0)
    assert suffixes(decided, language, [config])[0]["excess"] > 0.1


class Decided(torch.nn.Module):
    """A model whose answers are decided by a token and its position."""

    def __init__(self, encoding, vocabulary):
        super().__init__()
        self.encoding, self.vocabulary = encoding, vocabulary

    def forward(self, tokens, positions):
        return torch.sin(torch.arange(self.vocabulary) * (1 + tokens + 7 * positions).unsqueeze(-1))


def test_the_regularizer_compares_under_one_draw():
    x = texts(6, 11)
    loss = aligned_loss(by_position, x, 8, 1.0, distance="excess", positions=draw(x))
    assert loss.misalignment.item() == 0
    # In training, too: a model that knows nothing but positions has no excess to be trained against.
    config = small("encoding=randomized", "alignment.windows=2", "alignment.alpha=1", "alignment.distance=excess")
    plain = config.model_copy(update={"alignment": config.alignment.model_copy(update={"alpha": 0.0})})
    losses = []
    for each in (config, plain):
        ensemble = build_models([each])
        objective = WindowLoss(ensemble, [each])

        objective.model = Decided(ensemble.encoding, TASKS.build(config.task).vocabulary)
        losses.append(objective())
    assert torch.equal(*losses)


def test_last_logits_take_the_positions_of_bos_and_eos():
    """A model with a BOS and an EOS of its own is given one position more on either side."""
    x, where = torch.zeros(2, 4, dtype=torch.long), torch.arange(6).expand(2, 6)

    def positions_sum(tokens, positions):
        assert positions.shape[1] == tokens.shape[1] + 2
        return positions.sum(1).float().view(-1, 1, 1)

    found = last_logits(positions_sum, x, torch.tensor([1, 4]), positions=where)
    assert found.flatten().tolist() == [3 + 4 + 5, 15]


def test_suffixes_of_numbers_are_compared_under_one_draw():
    x, lengths = texts(30, 6) % 2, torch.stack([torch.full((30,), 3), torch.full((30,), 6)])

    def last_position(part, positions):
        return positions[:, 1:-1].double()

    z = torch.zeros(30, 6)
    same = torch.rand(30, 20).argsort(1)[:, :8].sort(1).values
    _, _, suffix, _ = scalar_misalignment(z, last_position, x, lengths, same)
    assert suffix == 0
