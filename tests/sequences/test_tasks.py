"""The tasks: their examples by hand, against a reference over all prompts, and how often each prompt is drawn."""

from collections import Counter
from itertools import product

import pytest
import torch
from sequences.by_hand import REFERENCE, SMALL

from support.frequencies import assert_uniform
from synthlab.errors import InputError
from synthlab.sequences.task import AnswerTask, Pairs
from synthlab.sequences.tasks import TASKS

ANSWERS = [name for name in TASKS if issubclass(TASKS[name], AnswerTask)]
# Tasks whose prompts of one length are all equally likely.
UNIFORM = (
    *("mode", "copy", "copy_distinct", "copy_twice", "repeat", "replace", "reverse", "sort", "selective_copy", "count"),
    *("mqar", "summation", "even_pairs", "cycle_navigation", "modular_arithmetic", "modular_arithmetic_brackets"),
    *("solve_equation", "missing_duplicate_string", "odds_first", "compute_sqrt", "bucket_sort", "index_hints"),
)
BOUNDS = ("mixture", "addition", "binary_addition", "binary_multiplication")  # whose chance is an upper bound
MANY = 4000


def task(name: str, **arguments) -> AnswerTask:
    return TASKS.build({"name": name, **SMALL[name], **arguments})


def drawn(problem: AnswerTask, lengths: list[int], seed: int = 0) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Prompts and answers in writing, taken from the rows that a model reads and the tokens that it is to say."""
    width = problem.width(max(lengths))
    batch = problem.batch(torch.tensor(lengths), width, torch.Generator().manual_seed(seed))
    pairs, names = [], list(map(problem.written, range(problem.vocabulary)))
    for row, targets, size in zip(*(part.tolist() for part in (batch.tokens, batch.targets, batch.sizes)), strict=True):
        said = [names[token] for token in (*row[:size], targets[size - 1])]
        between = said.index("<separator>")
        assert (said[0], said[-1]) == ("<begin>", "<end>")
        pairs.append((tuple(said[1:between]), tuple(said[between + 1 : -1])))
    return pairs


@pytest.mark.parametrize("name", ANSWERS)
def test_prompts_are_those_of_the_reference(name):
    problem = task(name)
    lengths = problem.lengths(1, 4)
    for length in lengths:
        assert set(drawn(problem, [length] * 2000)) == set(REFERENCE[name](length)), length
    for pair, length in zip(drawn(problem, lengths * 20), lengths * 20, strict=True):
        assert pair in set(REFERENCE[name](length))


@pytest.mark.parametrize("name", UNIFORM)
def test_all_prompts_are_equally_likely(name):
    problem, length = task(name), 3
    assert_uniform(drawn(problem, [length] * MANY), set(REFERENCE[name](length)))


@pytest.mark.parametrize(
    ("name", "length", "numbers"),
    [("majority", 4, [0, 1, 3, 4]), ("majority", 3, [0, 1, 2, 3]), ("parity", 4, [0, 1, 2, 3, 4])],
)
def test_number_and_places_of_ones_are_uniform(name, length, numbers):
    prompts = [prompt for prompt, _ in drawn(task(name), [length] * MANY)]
    assert_uniform((prompt.count("1") for prompt in prompts), numbers)
    first = [prompt[0] == "1" for prompt in prompts if prompt.count("1") == 1]
    assert abs(sum(first) / len(first) - 1 / length) < 5 * (0.25 / len(first)) ** 0.5


@pytest.mark.parametrize("name", ANSWERS)
def test_chance_is_the_best_constant_answer(name):
    problem = task(name)
    for length in problem.lengths(1, 4):
        uniform = name in UNIFORM  # then all prompts say it exactly
        pairs = list(REFERENCE[name](length)) if uniform else drawn(problem, [length] * MANY)
        answers = Counter(answer[1:] if name in ("mqar", "retrieval") else answer for _, answer in pairs)
        share = answers.most_common(1)[0][1] / len(pairs)
        chance = problem.chance(length)
        slack = 1e-12 if uniform else 5 * (0.25 / MANY) ** 0.5
        assert share < chance + slack
        if name not in BOUNDS:
            assert share > chance - slack


@pytest.mark.parametrize("ask", ["greatest", "number"])
def test_retrieval_looks_for_a_number_that_is_uniform_and_occurs_once(ask):
    pairs, found = drawn(task("retrieval", numbers=4, ask=ask), [3] * MANY), []
    for prompt, (question, letter) in pairs:
        numbers, letters = zip(*(item.split(".") for item in prompt), strict=True)
        number = max(numbers) if ask == "greatest" else question[0]
        assert (question, numbers.count(number)) == ("max?" if ask == "greatest" else f"{number}?", 1)
        assert letter == f"c{letters[numbers.index(number)]}"
        found.append((number, numbers.index(number)))
    assert_uniform(found, set(product("123" if ask == "greatest" else "0123", range(3))))


@pytest.mark.parametrize(
    ("format", "prompt", "answer"),
    [
        ("plain", "1 2 + 3", "2 1"),
        ("reversed", "2 1 + 3", "1 2"),
        ("padded", "2 1 + 3 0", "1 2 0"),
        ("hinted", "h1 2 h2 1 + h1 3 h2 0", "h1 1 h2 2 h3 0"),
    ],
)
def test_the_formats_of_addition_by_hand(format, prompt, answer):
    problem = TASKS.build({"name": "addition", "base": 4, "format": format, "hints": 5})
    found = dict(drawn(problem, [2] * MANY))
    assert found[tuple(prompt.split())] == tuple(answer.split())


MIXTURE = {"name": "mixture", "of": ["copy", "reverse"], "shares": None, "upto": None, "only": None}


def test_a_mixture_has_its_shares_lengths_and_tests():
    def mixture(**changed):
        of = [{"name": "copy", "symbols": 2}, {"name": "reverse", "symbols": 3}]
        return TASKS.build(MIXTURE | {"of": of} | changed)

    def first(problem, length: int) -> Counter:
        assert isinstance(problem, AnswerTask)
        return Counter(prompt[0] for prompt, _ in drawn(problem, [length] * MANY))

    count = first(mixture(shares=[3.0, 1.0]), 2)["task1"]
    assert abs(count / MANY - 0.25) < 5 * (0.1875 / MANY) ** 0.5  # fails by chance once in a million runs
    short = mixture(upto=[2, 4])
    assert (first(short, 2).keys(), first(short, 3).keys()) == ({"task0", "task1"}, {"task1"})
    assert short.lengths(1, 9) == [1, 2, 3, 4]
    alone = mixture(upto=[2, 4], only=0)
    assert (first(alone, 3).keys(), alone.lengths(1, 9)) == ({"task0"}, [*range(1, 10)])
    assert alone.symbols == short.symbols == ("0", "1", "2", "task0", "task1")
    assert mixture().chance(2) == pytest.approx((2**-2 + 3**-2) / 2)


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (MIXTURE | {"of": ["copy", "aa_star"]}, "task.of.1=aa_star: must be a task that asks for whole answers"),
        (MIXTURE | {"of": ["copy", "mqar"]}, "task.of.1=mqar: must be a task that asks for whole answers"),
        (MIXTURE | {"of": ["copy", "copi"]}, "task.of.1=copi: unknown, did you mean copy?"),
        (MIXTURE | {"shares": [1.0]}, r"task.shares=\[1.0\]: must have a value for each of 2 tasks"),
        (MIXTURE | {"upto": [1, 2, 3]}, r"task.upto=\[1, 2, 3\]: must have a value for each of 2 tasks"),
        (MIXTURE | {"only": 2}, "task.only=2: must be below the number of tasks, 2"),
        ({"name": "index_hints", "of": {"name": "sort", "symbols": 5}, "hints": 9}, "task.of=sort: names no places"),
        ({"name": "without_end", "of": {"name": "aa_star"}}, "task.of=aa_star: "),
    ],
)
def test_tasks_around_others_that_do_not_fit_are_refused(config, line):
    with pytest.raises(InputError, match=f"^{line}"):
        TASKS.build(config)


def test_index_hints_of_addition_are_its_hinted_format():
    addition = {"name": "addition", "base": 10, "hints": 9}
    of = TASKS.build({"name": "index_hints", "of": addition | {"format": "padded"}, "hints": 9})
    hinted, lengths = TASKS.build(addition | {"format": "hinted"}), torch.tensor([1, 3, 8])
    ours, theirs = (each.batch(lengths, hinted.width(8), torch.Generator().manual_seed(0)) for each in (of, hinted))
    assert all(map(torch.equal, ours, theirs))
    assert (of.chance(4), of.lengths(1, 20)) == (hinted.chance(4), hinted.lengths(1, 20))


def test_carries_go_through_many_digits():
    problem = TASKS.build({"name": "addition", "base": 10, "format": "plain", "hints": 9})
    for prompt, answer in drawn(problem, list(range(1, 41)) * 10):
        first, second = "".join(prompt).split("+")
        assert int(first) + int(second) == int("".join(answer))
        assert max(len(first), len(second)) <= 40


def test_a_row_by_hand():
    problem = task("reverse")
    pairs = Pairs(torch.tensor([[0, 1, 2], [1, 9, 9]]), torch.tensor([3, 1]), torch.tensor([[2, 1, 0], [1, 9, 9]]),
                  torch.tensor([3, 1]))  # fmt: skip
    batch = problem.lay_out(pairs, problem.width(3))
    begin, separator, end = 3, 4, 5
    assert batch.tokens.tolist() == [[begin, 0, 1, 2, separator, 2, 1, 0], [begin, 1, separator, 1, *[end] * 4]]
    assert batch.sizes.tolist() == [8, 4]
    says = [row[where].tolist() for row, where in zip(batch.targets, batch.scored, strict=True)]
    assert says == [[2, 1, 0, end], [1, end]]
    assert batch.scored.int().tolist() == [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 0, 0]]


def test_only_the_end_is_not_scored():
    of = {"name": "reverse", "symbols": 2}
    task, inner = (TASKS.build(each) for each in ({"name": "without_end", "of": of}, of))
    lengths = torch.tensor([1, 3])
    batch, with_end = (each.batch(lengths, each.width(3), torch.Generator().manual_seed(0)) for each in (task, inner))
    assert torch.equal(batch.tokens, with_end.tokens)
    assert torch.equal(batch.targets, with_end.targets)
    # begin, prompt, separator, answer: what follows the separator is asked for, and what follows the answer is not.
    assert batch.scored.int().tolist() == [[0, 0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 0]]
    assert (with_end.scored.int() - batch.scored.int()).tolist() == [[0, 0, 0, 1, 0, 0, 0, 0], [0] * 7 + [1]]
