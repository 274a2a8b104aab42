"""Positions that a task gives its tokens: by hand, as a law over tasks, and their random starts in training."""

from collections.abc import Callable
from typing import cast

import pytest
import torch

from support.configs import small, small_sequences
from support.frequencies import assert_uniform, generator
from synthlab.errors import InputError
from synthlab.models.layers import Member
from synthlab.sequences.positions import Abacus, Coupled
from synthlab.sequences.tasks import TASKS
from synthlab.sequences.trained import TrainedSequences
from synthlab.training.execution import execute_together

ADDITION = {"name": "addition", "base": 10, "format": "padded", "hints": 9}
COUPLED = [
    ADDITION,
    ADDITION | {"format": "reversed"},
    {"name": "copy", "symbols": 10},
    {"name": "copy_distinct", "symbols": 10},
    {"name": "reverse", "symbols": 10},
    {"name": "without_end", "of": {"name": "reverse", "symbols": 10}},
]


def rows(task, *texts: str) -> torch.Tensor:
    """Return rows of tokens; ``b``, ``s`` and ``e`` are begin, separator and end."""
    known = {name: token for token, name in enumerate(task.symbols)}
    known |= {"b": task.begin, "s": task.separator, "e": task.end}
    return torch.tensor([[known[symbol] for symbol in text.split()] for text in texts])


@pytest.mark.parametrize(
    ("task", "text", "coupled", "abacus"),
    [
        # 12 + 7 = 019: digits of one significance have one position, and signs the one before the least significant
        (ADDITION, "b 2 1 + 7 0 s 9 1 0 e", [0, 2, 3, 1, 2, 3, 1, 2, 3, 4, 0], [0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 0]),
        (ADDITION | {"format": "reversed"}, "b 2 1 + 7 s 9 1", [0, 2, 3, 1, 2, 1, 2, 3], [0, 1, 2, 0, 1, 0, 1, 2]),
        ({"name": "copy", "symbols": 10}, "b 7 8 9 s 7 8 9", [0, 2, 3, 4, 1, 2, 3, 4], [0, 1, 2, 3, 0, 1, 2, 3]),
        # Each symbol of the answer has the position before that of the token that it follows.
        ({"name": "reverse", "symbols": 10}, "b 7 8 9 s 9 8 7", [0, 2, 3, 4, 5, 4, 3, 2], [0, 1, 2, 3, 0, 3, 2, 1]),
    ],
)
def test_positions_by_hand(task, text, coupled, abacus):
    built = TASKS.build(task)
    tokens = rows(built, text)
    assert Coupled(span=9).number(built, tokens).tolist() == [coupled]
    assert Abacus(shift=9).number(built, tokens).tolist() == [abacus]


@pytest.mark.parametrize("task", COUPLED)
def test_places_are_those_of_the_length_and_follow_from_earlier_tokens(task):
    built = TASKS.build(task)
    batch = built.batch(torch.tensor([1, 2, 5, 5]), built.width(5), generator())
    couple = cast(Callable[[torch.Tensor], torch.Tensor], built.couple)
    places = couple(batch.tokens)
    for row, tokens, size, length in zip(places, batch.tokens, batch.sizes.tolist(), [1, 2, 5, 5], strict=True):
        separator = tokens.tolist().index(built.separator)
        assert {*range(1, length + 1)} <= {*row[1:separator].tolist()} <= {*range(length + 1)}
        assert row[separator + 1 : size].max() <= length + 1
    for size in range(1, batch.tokens.shape[1]):
        assert torch.equal(couple(batch.tokens[:, :size]), places[:, :size])


def test_starts_of_training_are_uniform_up_to_the_span():
    task = TASKS.build(ADDITION)
    tokens = rows(task, "b 2 1 + 7 0 s 9 1 0").expand(3000, -1)
    drawn = Coupled(span=7).number(task, tokens, generator())
    # Of two digits, the sum's third one included: the plus sign has 1 to 4, the last digit 4 to 7.
    assert_uniform(drawn[:, 3].tolist(), range(1, 5))
    assert torch.equal(drawn[:, 1:], drawn[:, 3:4] + torch.tensor([1, 2, 0, 1, 2, 0, 1, 2, 3]))


def test_cyclic_starts_are_uniform_and_positions_begin_again():
    task, coupled = TASKS.build(ADDITION), Coupled(span=4, cyclic=True)
    tokens = rows(task, "b 2 1 + 7 0 s 9 1 0").expand(3000, -1)
    drawn = coupled.number(task, tokens, generator())
    assert_uniform(drawn[:, 3].tolist(), range(1, 5))
    by_hand = {1: [2, 3, 4], 2: [3, 4, 1], 3: [4, 1, 2], 4: [1, 2, 3]}  # the digits of the sum, by the plus sign
    assert all(row[7:] == by_hand[row[3]] for row in drawn.tolist())
    assert coupled.number(task, tokens[:1]).tolist() == [[0, 2, 3, 1, 2, 3, 1, 2, 3, 4]]


def test_a_prompt_does_not_tell_how_long_its_answer_is():
    task = TASKS.build(ADDITION | {"format": "reversed"})
    short, carried = (rows(task, text).expand(3000, -1) for text in ("b 2 + 7 s 9", "b 9 + 7 s 6 1"))
    prompts = [Coupled(span=7).number(task, tokens, generator())[:, :5] for tokens in (short, carried)]
    assert torch.equal(*prompts)


def test_abacus_moves_all_numbers_of_a_step_alike():
    task = TASKS.build(ADDITION)
    tokens, draws = rows(task, "b 2 1 + 7 0 s 9 1 0").expand(4, -1), generator()
    firsts = []
    for _ in range(1000):
        drawn = Abacus(shift=3).number(task, tokens, draws)
        assert (drawn == drawn[0]).all()
        firsts.append(int(drawn[0, 1]))
        assert drawn[0, 3] == 0
    assert_uniform(firsts, range(1, 5))


def test_training_reaches_the_positions_of_tests():
    config = small_sequences("task=copy", "positions=coupled", "encoding=learned", "test_length=9")
    assert config.positions == {"name": "coupled", "span": 11}
    assert small_sequences("task=copy", "positions=abacus", "encoding=learned").positions["shift"] == 8 - 4


def test_a_trained_model_reads_with_the_positions_of_the_task():
    config = small_sequences("task=reverse", "positions=coupled", "encoding=learned")
    model = TrainedSequences(execute_together([config], keep=[4])[0])
    tokens = rows(model.task, "b 0 1 1 s")
    by_hand = torch.tensor([[0, 2, 3, 4, 5]])
    with torch.no_grad():
        expected = Member(model.module, 0)(tokens, by_hand)[0, -1].double().softmax(-1)
    torch.testing.assert_close(model.predict(["0 1 1"]).answer[0], expected)


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        ("task=majority positions=coupled encoding=learned", "positions=coupled: task=majority names no places"),
        ("task=addition positions=abacus encoding=learned", "positions=abacus: task=addition names no places"),
        ("task=sort positions=coupled encoding=learned", "positions=coupled: task=sort names no places"),
        (
            "task=support.lawless:CountsFromTheEnd positions=coupled encoding=rope",
            "positions=coupled: task=support.lawless:CountsFromTheEnd breaks a law: ",
        ),
        ("task=copy positions=coupled", "positions=coupled: encoding=nope cannot use them"),
        ("task=copy positions=coupled encoding=fire", "positions=coupled: encoding=fire cannot use them"),
        ("task=copy positions=coupled positions.span=5 encoding=rope", "positions.span=5: must be at least"),
        ("task=copy positions=coupled encoding=learned encoding.table=10", "encoding=learned: has 10 positions"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(overrides, line):
    with pytest.raises(InputError) as error:
        small_sequences(*overrides.split())
    assert len(error.value.lines) == 1
    assert error.value.lines[0].startswith(line)


def test_a_language_has_no_places():
    with pytest.raises(InputError, match="^positions=coupled: unknown"):
        small("positions=coupled")
