from itertools import product

import pytest
import torch

from synthlab.language.languages.hidden_markov import HiddenMarkov
from synthlab.rng import stream


def by_enumeration(chain: HiddenMarkov, window: tuple[int, ...]) -> float:
    """The probability of a window, summed over all paths of the hidden state."""
    states, vocabulary = range(chain.states), chain.vocabulary

    def emit(state: int, token: int) -> float:
        weights = [chain.falloff ** ((each - state) % vocabulary) for each in range(vocabulary)]
        return weights[token] / sum(weights)

    def move(here: int, there: int) -> float:
        if chain.states == 1:
            return 1.0
        return chain.stay if here == there else (1 - chain.stay) / (chain.states - 1)

    total = 0.0
    for path in product(states, repeat=len(window)):
        probability = emit(path[0], window[0]) / chain.states
        for at in range(1, len(window)):
            probability *= move(path[at - 1], path[at]) * emit(path[at], window[at])
        total += probability
    return total


@pytest.mark.parametrize(
    ("states", "vocabulary", "stay", "falloff"),
    [(2, 2, 0.75, 0.5), (3, 3, 0.2, 0.3), (3, 2, 0.9, 1.0), (2, 3, 0.0, 0.5), (1, 3, 0.0, 0.5)],
)
def test_predictions_are_sums_over_all_hidden_paths(states, vocabulary, stay, falloff):
    chain = HiddenMarkov(states, vocabulary, stay, falloff)
    windows = list(product(range(vocabulary), repeat=4))
    predicted = chain.predict(torch.tensor(windows)[:, :3]).exp()
    for row, window in enumerate(windows):
        for length in (1, 2, 3):
            expected = by_enumeration(chain, window[: length + 1]) / by_enumeration(chain, window[:length])
            assert predicted[row, length - 1, window[length]].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("stay", "falloff"), [(0.99, 0.7), (1.0, 0.5), (0.0, 0.01)])
def test_windows_of_thousands_of_tokens_are_predicted(stay, falloff):
    chain = HiddenMarkov(states=3, vocabulary=5, stay=stay, falloff=falloff)
    # Drawn from another chain, so that unlikely tokens abound.
    x = HiddenMarkov(states=5, vocabulary=5, stay=0.9, falloff=1.0).draw(2, 5000, stream(0, "evaluation"))
    torch.testing.assert_close(chain.predict(x).logsumexp(-1), torch.zeros(2, 5000).double(), atol=1e-12, rtol=0)
