"""The fifteen tasks of the Chomsky hierarchy: the authors' examples, the draw where it is not uniform, long numbers."""

import re
from collections import Counter
from itertools import product
from math import isqrt

import pytest
import torch
from sequences.by_hand import REFERENCE, equations, expressions, stacks, value
from sequences.test_tasks import drawn, task

from support.configs import composed
from support.frequencies import assert_drawn_from
from synthlab.sequences.tasks import TASKS

PAPERS = {  # tasks of other papers too, in the settings of this one
    "parity_check": ["task=parity", "task.uniform=bits"],
    "reverse_string": ["task=reverse"],
    "duplicate_string": ["task=copy_twice", "task.symbols=2", "task.between=false"],
}


def build(name: str):
    """The task of this paper, or of a file of conf/task."""
    return TASKS.build(composed(*PAPERS.get(name, [f"task={name}"]))["task"])


def answer_to(problem, prompt: str) -> str:
    """The answer to a prompt, which is waited for among very many that are drawn."""
    tokens = [problem.begin, *map(problem.symbols.index, prompt.split()), problem.separator]
    length = len(tokens) - 2
    batch = problem.batch(torch.full((20_000,), length), problem.width(length), torch.Generator().manual_seed(0))
    row = (batch.tokens[:, : len(tokens)] == torch.tensor(tokens)).all(1).nonzero()[0, 0]
    *answer, end = batch.targets[row][batch.scored[row]].tolist()
    assert end == problem.end
    return " ".join(map(problem.written, answer))


def most_likely(probabilities: dict) -> float:
    """How likely the likeliest answer is."""
    shares = Counter()
    for (_, answer), probability in probabilities.items():
        shares[answer] += probability
    return max(shares.values())


@pytest.mark.parametrize(
    ("name", "prompt", "answer"),
    [
        ("even_pairs", "0 0 1 1 1 0", "0"),
        ("parity_check", "1 0 1 0 1 0 0", "1"),
        ("cycle_navigation", "r l s l l", "3"),
        ("modular_arithmetic", "1 + 2 * 3", "2"),
        ("reverse_string", "0 1 1 0 1 0", "0 1 0 1 1 0"),
        ("stack_manipulation", "0 1 1 push1 pop pop", "1 0"),
        ("stack_manipulation", "1 pop pop push0", "0"),
        ("modular_arithmetic_brackets", "( 1 - 3 )", "3"),
        ("solve_equation", "( x + 3 ) = 2", "4"),
        ("duplicate_string", "1 0 1", "1 0 1 1 0 1"),
        ("missing_duplicate_string", "0 1 1 0 0 _ 1 0", "1"),
        ("odds_first", "0 0 1 1 0 1 0 1", "0 1 0 0 0 1 1 1"),
        ("binary_addition", "0 0 1 + 0 1 1 0 1", "0 1 0 1 1"),  # 4 + 22 = 26
        ("binary_multiplication", "0 0 1 * 0 1 1 0 1", "0 0 0 1 1 0 1"),  # 4 * 22 = 88
        ("compute_sqrt", "1 0 0 1 0 1", "1 1 0"),  # of 37, 6
        ("bucket_sort", "3 0 4 0", "0 0 3 4"),
    ],
)
def test_examples_by_hand(name, prompt, answer):
    assert answer_to(build(name), prompt) == answer


def exact_expressions(length: int) -> dict:
    return {(tuple(text), (value(tuple(text), 2),)): p for text, p in expressions(length, 2, "+-*").items()}


def exact_stacks(length: int) -> dict:
    sizes = {pair: sum(word in ("0", "1") for word in pair[0]) for pair in stacks(length)}
    return {pair: 1 / max(1, length - 1) / 2**size / 3 ** (length - size) for pair, size in sizes.items()}


def exact_operations(name: str, length: int) -> dict:
    sizes = {pair: len(re.split(r"[+*]", "".join(pair[0]))[0]) for pair in REFERENCE[name](length)}
    return {pair: 1 / (length - 2) / (2**size - 1) / (2 ** (length - 1 - size) - 1) for pair, size in sizes.items()}


BINARY = ("binary_addition", "binary_multiplication")  # whose chance is an upper bound
EXACT = [
    *(("modular_arithmetic_brackets", {"modulus": 2}, length, exact_expressions(length)) for length in (5, 8, 9)),
    *(("solve_equation", {"modulus": 2}, length, equations(length, 2)) for length in (7, 9)),
    *(("stack_manipulation", {}, length, exact_stacks(length)) for length in (1, 2, 5)),
    *((name, {}, length, exact_operations(name, length)) for name in BINARY for length in (4, 6)),
    ("parity", {"uniform": "bits"}, 4, {(x, (str(x.count("1") % 2),)): 1 / 16 for x in product("01", repeat=4)}),
]


@pytest.mark.parametrize(("name", "arguments", "length", "exact"), EXACT)
def test_prompts_have_their_probabilities(name, arguments, length, exact):
    problem = task(name, **arguments)
    assert_drawn_from(drawn(problem, [length] * 4000), exact)
    chance, likeliest = problem.chance(length), most_likely(exact)
    assert likeliest <= chance < 1 if name in BINARY else abs(chance - likeliest) < 1e-12


def test_long_numbers_are_those_of_python():
    for prompt, answer in drawn(task("binary_multiplication"), list(range(3, 200)) * 2):
        first, second = (int(text[::-1], 2) for text in "".join(prompt).split("*"))
        assert first * second == int("".join(answer)[::-1], 2)
        assert answer[-1] == "1"
    for prompt, answer in drawn(task("compute_sqrt"), list(range(1, 200)) * 2):
        assert isqrt(int("".join(prompt), 2)) == int("".join(answer), 2)
