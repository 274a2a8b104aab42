from collections import defaultdict

import pytest
import torch

from support.facts import enumerated, units, worlds
from support.frequencies import assert_drawn_from
from synthlab.language.languages.recall import Recall
from synthlab.rng import stream

TINY = {"keys": 2, "values": 2, "fillers": 1, "facts": 0.3, "questions": 0.4}
# Its tokens: two facts of each key, the questions, the answers, the filler.
ASK_0, ANSWER_0 = 4, 6


@pytest.mark.parametrize(
    ("changes", "length"),
    [
        ({}, 5),
        ({"keys": 3, "facts": 0.5, "questions": 0.3}, 4),
        ({"values": 3, "fillers": 2}, 3),
        ({"facts": 0.0}, 4),
        ({"questions": 0.0}, 4),
        ({"facts": 0.0, "questions": 1.0}, 6),
    ],
)
def test_predictions_are_sums_over_all_worlds_and_units(changes, length):
    sizes = TINY | changes
    windows = {n: enumerated(sizes, n) for n in range(1, length + 1)}
    assert sum(windows[length].values()) == pytest.approx(1)
    language = Recall(**sizes)
    parents = sorted(windows[length - 1])
    predicted = language.predict(torch.tensor(parents)).exp()
    for row, window in enumerate(parents):
        for n in range(1, length):
            expected = [
                windows[n + 1].get((*window[:n], token), 0.0) / windows[n][window[:n]]
                for token in range(language.vocabulary)
            ]
            assert predicted[row, n - 1].tolist() == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_impossible_windows_have_distributions_too():
    language = Recall(**TINY)
    x = torch.randint(language.vocabulary, (300, 12), generator=stream(0, "evaluation"))
    torch.testing.assert_close(language.predict(x).exp().sum(-1), torch.ones(300, 12).double())


@pytest.mark.parametrize("changes", [{}, {"facts": 0.0, "questions": 1.0}, {"questions": 0.0}, {"facts": 0.6}])
def test_windows_have_their_probabilities(changes):
    sizes, count = TINY | changes, 30_000
    drawn = Recall(**sizes).draw(count, 3, stream(0, "training"))
    assert_drawn_from(map(tuple, drawn.tolist()), enumerated(sizes, 3))


@pytest.mark.parametrize(
    ("length", "depth", "place"), [(5, 0.0, 0), (5, 0.5, 2), (5, 1.0, 3), (6, 0.3, 1), (2, 0.7, 0)]
)
def test_questions_have_their_probabilities(length, depth, place):
    found = defaultdict(float)

    def grow(window, asked, probability, world, wanted):
        at = len(window)
        if at in (place, length - 1) and asked is not None:
            return  # no unit begins here
        if at == length - 1:
            found[(*window, ASK_0 + wanted, ANSWER_0 + world[wanted])] += probability
        elif at == place:
            grow((*window, 2 * wanted + world[wanted]), None, probability, world, wanted)
        elif asked is not None:
            grow((*window, ANSWER_0 + world[asked]), None, probability, world, wanted)
        else:
            for token, key, share in units(**TINY, about=[1 - wanted], world=world):
                grow((*window, token), key, probability * share, world, wanted)

    for world in worlds(2, 2):
        for wanted in (0, 1):
            grow((), None, 1 / 1.4, world, wanted)
            grow((), 1 - wanted, 0.4 / 1.4, world, wanted)
    total = sum(found.values())
    questions = Recall(**TINY).questions(30_000, length, depth, stream(0, "evaluation"))
    drawn = torch.cat([questions.tokens, questions.answers[:, None]], 1)
    exact = {window: probability / total for window, probability in found.items()}
    assert_drawn_from(map(tuple, drawn.tolist()), exact)


def test_no_questions_without_facts():
    assert Recall(**TINY | {"facts": 0.0}).questions(3, 8, 0.5, stream(0, "evaluation")) is None
