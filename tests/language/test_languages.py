"""Laws that every language keeps."""

import pytest
import torch

from support.configs import composed
from synthlab.errors import InputError
from synthlab.language.languages import TASKS
from synthlab.language.languages.source import LanguageTask
from synthlab.rng import stream


def config(name: str) -> dict:
    return composed(f"task={name}")["task"]


def default(name: str) -> LanguageTask:
    return TASKS.build(config(name))


PREDICTED = [name for name in TASKS if default(name).predict(torch.zeros(1, 1).long()) is not None]


@pytest.mark.parametrize("name", TASKS)
def test_a_completed_config_is_the_same_language(name):
    language = default(name)
    again = TASKS.build(config(name) | language.complete_arguments())
    assert again.complete_arguments() == language.complete_arguments()
    assert torch.equal(*(each.draw(3, 20, stream(0, "training")) for each in (language, again)))


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("name", TASKS)
def test_draws_depend_on_their_generator_alone(name, held_out):
    language = default(name)
    first = language.draw(4, 50, stream(0, "training"), held_out)
    torch.rand(3)  # the global generator has no say
    assert torch.equal(first, language.draw(4, 50, stream(0, "training"), held_out))
    assert not torch.equal(first, language.draw(4, 50, stream(1, "training"), held_out))
    assert first.shape == (4, 50)
    assert first.min() >= 0
    assert first.max() < language.vocabulary


@pytest.mark.parametrize("name", TASKS)
def test_the_first_and_the_last_token_have_one_distribution(name):
    language = default(name)
    x = language.draw(8000, 9, stream(0, "evaluation"))
    first, last = (torch.bincount(x[:, at], minlength=language.vocabulary).double() for at in (0, -1))
    assert ((first - last).abs() <= 4.5 * (first + last).sqrt()).all()


@pytest.mark.parametrize("name", PREDICTED)
def test_predictions_are_distributions(name):
    language = default(name)
    predicted = language.predict(language.draw(5, 300, stream(0, "evaluation")))
    assert predicted.dtype == torch.float64
    assert predicted.shape == (5, 300, language.vocabulary)
    torch.testing.assert_close(predicted.logsumexp(-1), torch.zeros(5, 300).double(), atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", PREDICTED)
def test_predictions_depend_on_earlier_tokens_alone(name):
    language = default(name)
    x = language.draw(20, 40, stream(0, "evaluation"))
    for length in (1, 2, 17):
        torch.testing.assert_close(
            language.predict(x[:, :length]).exp(), language.predict(x)[:, :length].exp(), atol=1e-14, rtol=1e-12
        )


@pytest.mark.parametrize("name", PREDICTED)
def test_drawn_tokens_are_as_likely_as_predicted(name):
    language = default(name)
    x = language.draw(400, 101, stream(0, "evaluation"))
    predicted = language.predict(x[:, :-1])
    loss = -predicted.gather(2, x[:, 1:, None])[..., 0]
    excess = (loss - torch.special.entr(predicted.exp()).sum(-1)).mean(1)
    assert excess.mean().abs() <= 4 * excess.std() / 20


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("recall", {"facts": 0.7, "questions": 0.6}, "task.facts=0.7: "),
        ("tracking", {"facts": 0.2, "questions": 0.3, "links": 0.6}, "task.links=0.6: "),
        ("tracking", {"keys": 4, "values": 2}, "task.keys=4: "),
    ],
)
def test_bad_settings_are_refused(name, changes, message):
    with pytest.raises(InputError, match=message):
        TASKS.build(config(name) | changes)
