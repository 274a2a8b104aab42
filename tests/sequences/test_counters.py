"""Languages that no finite automaton knows: Dyck's and shuffles of it, a^n b^n."""

import pytest
import torch
from sequences.test_languages import shuffled

from synthlab.sequences.tasks import PROBLEMS


def texts_of(language, batch) -> list[str]:
    rows = zip(batch.tokens.tolist(), batch.sizes.tolist(), strict=True)
    return ["".join(map(language.written, row[1:size])) for row, size in rows]


def sets_of(language, batch, row: int) -> list[str]:
    said = batch.targets[row][batch.scored[row]]
    return ["".join(language.written(token)[:4] for token in each.nonzero()[:, 0].tolist()) for each in said]


def test_long_brackets_and_mixed_lengths_are_nested():
    for kinds in (1, 2, 3):
        language = PROBLEMS.build({"name": "dyck", "kinds": kinds})
        lengths = torch.tensor(language.lengths(1, 120))
        batch = language.batch(lengths, 121, torch.Generator().manual_seed(0))
        texts = texts_of(language, batch)
        assert list(map(len, texts)) == lengths.tolist()
        assert all(map(shuffled, texts))


def test_what_may_follow_brackets_by_hand():
    language = PROBLEMS.build({"name": "dyck", "kinds": 2})
    batch = language.batch(torch.full((500,), 4), 5, torch.Generator().manual_seed(0))
    row = texts_of(language, batch).index("([)]")
    assert sets_of(language, batch, row) == ["([<end", "()[", "()[]", "([]", "([<end"]


@pytest.mark.parametrize(
    ("letters", "text", "sets"),
    [
        (2, "ab", ["a", "ab", "<end"]),
        (2, "aabb", ["a", "ab", "ab", "b", "<end"]),
        (3, "aabbcc", ["a", "ab", "ab", "b", "c", "c", "<end"]),
        (4, "abcd", ["a", "ab", "c", "d", "<end"]),
    ],
)
def test_as_many_of_each_letter_by_hand(letters, text, sets):
    language = PROBLEMS.build({"name": "anbn", "letters": letters})
    longer = 3 * letters
    batch = language.batch(torch.tensor([longer, len(text)]), longer + 1, torch.Generator().manual_seed(0))
    assert texts_of(language, batch) == ["".join(letter * 3 for letter in "abcd"[:letters]), text]
    assert sets_of(language, batch, 1) == sets
    assert language.lengths(1, 9) == [letters * n for n in range(1, 9 // letters + 1)]
    assert language.chance(letters) == 0
