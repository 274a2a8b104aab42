"""The small language, its model, and the terms of theorem 1."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from synthlab.errors import InputError
from synthlab.rng import stream
from synthlab.training.execution import execute
from theory.language import BoundConfig, LanguageSettings, LinearAttention25, Terms, measure_lengths

CONF = Path(__file__).parent.parent.parent / "conf" / "theory.yaml"


def language(**changes) -> LanguageSettings:
    raw = OmegaConf.to_container(OmegaConf.load(CONF).language)
    protocol = raw["protocol"] | changes.pop("protocol", {})
    return LanguageSettings.from_raw(raw | {"protocol": protocol} | changes)


def test_topics_stay_and_prefer_their_tokens():
    text = language(vocabulary=2, topics=2, stay=0.75).draw(4000, 9, stream(0, "evaluation"))
    # Topic t emits token t with probability 2/3. Two neighbours share their topic with probability 3/4, so they are
    # equal with probability 3/4 (4/9 + 1/9) + 1/4 (2 x 2/9) = 19/36.
    same = (text[:, 1:] == text[:, :-1]).double().mean().item()
    assert same == pytest.approx(19 / 36, abs=0.01)
    assert text.double().mean().item() == pytest.approx(1 / 2, abs=0.02)


def test_the_model_is_equation_25():
    model = LinearAttention25(3, 2, stream(0, "initial")).double()
    text = torch.tensor([[0, 2, 1, 1]])
    x = torch.eye(3, dtype=torch.float64)[text[0]]
    for k in range(1, 5):
        q, keys, values = x[k - 1] @ model.queries, x[:k] @ model.keys, x[:k] @ model.values
        expected = (keys @ q) @ values @ model.out / k
        assert model(text)[0, k - 1].tolist() == pytest.approx(expected.tolist())


def test_the_norms_are_those_of_the_theorem():
    model = LinearAttention25(3, 5, stream(1, "initial")).double()
    scores, values = (model.queries @ model.keys.T).detach().numpy(), (model.values @ model.out).detach().numpy()
    printed, corrected = model.norms()
    assert printed == pytest.approx(np.linalg.norm(scores @ values, 2) ** 2)
    assert corrected == pytest.approx((np.linalg.norm(scores, 2) * np.linalg.norm(values, 2)) ** 2)
    assert printed <= corrected


def test_the_terms_are_means_over_all_windows():
    small = language(train_length=5, test_lengths=[7], sequences=6)
    model = LinearAttention25(small.vocabulary, small.width, stream(3, "initial")).double()
    (row,) = measure_lengths(small, model).to_dict("records")
    text = small.draw(6, 8, stream(0, "evaluation"))
    target = torch.eye(4, dtype=torch.float64)[text[:, -1]]

    def output(length):
        return model(text[:, -1 - length : -1])[:, -1]

    windows = [3, 4, 5]  # from l_train / 2 on
    train = np.mean([(output(k) - target).square().sum(-1).mean().item() for k in windows])
    pairs = [(output(i) - output(j)).square().sum(-1).mean().item() for i, j in product(windows, repeat=2)]
    assert row["train"] == pytest.approx(train)
    assert row["misalign"] == pytest.approx(np.mean(pairs))
    assert row["error"] == pytest.approx((output(7) - target).square().sum(-1).mean().item())
    assert row["rho"] == 1 - 5 / 14


def test_the_bounds_by_hand():
    row = Terms(length=4, error=1.0, misalign=2.0, train=4.0, rho=0.5, c0_printed=1.0, c0_corrected=9.0).row()
    assert row["printed"] == 0.25 * 2 + 1.25 * 4 + 2 * 0.25
    assert row["corrected"] == 3 * (0.25 * 2 + 1.25 * 4 + 10 * 0.25)
    assert row["sharper"] == (2 + 0.5 * 3) ** 2
    assert row["ratio"] == 0.2


def test_training_beats_answering_with_the_tokens_frequencies():
    small = language(sequences=1000, test_lengths=[17], protocol={"steps": 200})
    (row,) = execute(BoundConfig.from_language(small, 0)).metrics.to_dict("records")
    text = small.draw(4000, 2, stream(1, "evaluation"))
    frequencies = torch.bincount(text.flatten(), minlength=4) / text.numel()
    assert row["train"] < 1 - frequencies.square().sum().item()


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"test_lengths": [4, 512]}, "language.test_lengths="), ({"sequences": 10**6}, "language.sequences=1000000: ")],
)
def test_bad_settings_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        language(**changes)
