import pytest
import torch
from pandas.testing import assert_frame_equal

from support.configs import config
from support.models import model
from synthlab.numbers import evaluation, objective
from synthlab.numbers.evaluation import evaluate_models
from synthlab.numbers.family import build_models
from synthlab.numbers.objective import STEPS, PrefixRegression, length_weights, weighted_mse
from synthlab.rng import Twisters


def test_length_weights_by_hand():
    assert length_weights("uniform", 4).tolist() == [0.25] * 4
    assert length_weights("proportional", 4).tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert length_weights("longest", 4).tolist() == [0, 0, 0, 1]
    # in a step of a curriculum that goes up to 2
    assert length_weights("proportional", 4, 2).tolist() == pytest.approx([1 / 3, 2 / 3, 0, 0])
    assert length_weights("longest", 4, 2).tolist() == [0, 1, 0, 0]


def test_weighted_mse_by_hand():
    output, target = torch.tensor([[[1.0, 2.0], [0.0, 4.0]]] * 2), torch.tensor([[[0.0, 0.0], [0.0, 1.0]]] * 2)
    # squared errors 1, 4 / 0, 9; weights 1/4, 3/4; mean of 3.25 and 6.75; weights 1, 0; mean of 1 and 0
    assert weighted_mse(output, target, torch.tensor([[[0.25, 0.75]], [[1.0, 0.0]]])).tolist() == [5.0, 0.5]
    assert weighted_mse(output, target, torch.tensor([[[1.0, 0.0], [0.0, 1.0]]] * 2)).tolist() == [5.0, 5.0]


class OneReadout(torch.nn.Module):
    """Answers with the number of distinct positions it was given, at every prefix."""

    encoding = model("randomized").encoding

    def forward(self, x, positions):
        self.counts = torch.tensor([len(set(row)) for row in positions[0].tolist()])
        return self.counts[None, :, None].expand(x.shape).float()


def test_drawn_positions_make_rows_of_one_length():
    # A prefix of k symbols has k + 2 positions, so the length task is answered with an error of 2 at every row.
    assert PrefixRegression(OneReadout(), [config("task=length", "encoding=randomized")])().item() == 4.0
    model, growing = OneReadout(), ("curriculum.start=3", "curriculum.until=1", "protocol.batch=64")
    PrefixRegression(model, [config("task=length", "encoding=randomized", *growing)])()
    assert model.counts.unique().tolist() == [3, 4, 5]


def test_curriculum_by_hand():
    class Zero(torch.nn.Module):
        """Answers 0 to everything, so that the length task has an error of k^2 at length k."""

        encoding = model("nope").encoding

        def forward(self, x, positions=None):
            return torch.zeros(x.shape)

    run = config("task=length", "curriculum.start=1", "curriculum.until=0.5", "protocol.steps=8")
    step = PrefixRegression(Zero(), [run])
    # 1 + 9 step / 4, rounded down, is the longest of the lengths; the mean of k^2 up to n is (n + 1) (2n + 1) / 6
    expected = [(n + 1) * (2 * n + 1) / 6 for n in (1, 3, 5, 7, 10, 10)]
    assert [step().item() for _ in expected] == pytest.approx(expected)


@pytest.mark.parametrize("inputs", ["bernoulli", "uniform_count"])
def test_examples_that_are_drawn_together_are_those_of_each_model(monkeypatch, inputs):
    configs = [config(f"inputs={inputs}", f"seed={seed}") for seed in range(2)]
    ensemble = build_models(configs)
    in_turn = PrefixRegression(ensemble, configs)
    tested = evaluate_models(ensemble, [0, 1], configs)
    for module in (objective, evaluation):
        monkeypatch.setattr(module, "gather", lambda generators, _: Twisters(generators))
    together = PrefixRegression(ensemble, configs)
    for _ in range(STEPS + 1):  # beyond the first block
        for given, expected in zip(together.draw()[:2], in_turn.draw()[:2], strict=True):
            assert given.equal(expected)
    for given, expected in zip(evaluate_models(ensemble, [0, 1], configs), tested, strict=True):
        assert_frame_equal(given[0], expected[0])
