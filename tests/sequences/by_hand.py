"""Prompts and answers of every sequence task as one would work them out by hand: ``SMALL`` has the arguments of a small
version of each task, ``REFERENCE`` all its prompts of a length with their answers."""

from collections.abc import Callable, Iterator
from itertools import pairwise, product
from math import isqrt
from typing import Any

from sequences import reference
from sequences.reference import Words, answered, strings

SMALL: dict[str, dict[str, Any]] = {
    **reference.SMALL,
    "copy_twice": {"symbols": 2, "first": "forwards", "second": "backwards", "between": True},
    "repeat": {"symbols": 3, "times": 2},
    "replace": {"symbols": 3},
    "summation": {"modulus": 3},
    "even_pairs": {},
    "cycle_navigation": {"positions": 3},
    "modular_arithmetic": {"modulus": 3},
    "stack_manipulation": {},
    "modular_arithmetic_brackets": {"modulus": 3, "products": True},
    "solve_equation": {"modulus": 3},
    "missing_duplicate_string": {},
    "odds_first": {"symbols": 2},
    "binary_addition": {},
    "binary_multiplication": {},
    "compute_sqrt": {},
    "bucket_sort": {"symbols": 3},
    "without_end": {"of": {"name": "odds_first", "symbols": 2}},
}


def value(words: Words, modulus: int) -> str:
    return str(eval("".join(words)) % modulus)


def sums_without_brackets(length: int) -> Iterator[tuple[Words, Words]]:
    for words in product(*("012" if place % 2 == 0 else "+-*" for place in range(length))):
        yield words, (value(words, 3),)


def expressions(length: int, modulus: int, operators: str) -> dict[str, float]:
    """All expressions with brackets, and how likely each is."""
    digits = "0123456789"[:modulus]
    if length < 5:
        form = ["", "{}", "-{}", "({})", "(-{})"][length]
        return {form.format(digit): 1 / modulus for digit in digits}
    found, splits = {}, length - 4
    for size in range(1, splits + 1):
        left, right = (expressions(part, modulus, operators) for part in (size, length - 3 - size))
        for (a, p), (b, q), operator in product(left.items(), right.items(), operators):
            found[f"({a}{operator}{b})"] = p * q / splits / len(operators)
    return found


def equations(length: int, modulus: int) -> dict[tuple[Words, Words], float]:
    """All equations with their solutions, found by trying all digits, and how likely each is."""
    found: dict[tuple[Words, Words], float] = {}
    for text, probability in expressions(length - 2, modulus, "+-").items():
        for place in range(len(text)):
            at = next(at % len(text) for at in range(place, 2 * len(text)) if text[at % len(text)].isdigit())
            right, left = value(tuple(text), modulus), f"{text[:at]}x{text[at + 1 :]}"
            [solution] = [x for x in map(str, range(modulus)) if value(tuple(left.replace("x", x)), modulus) == right]
            pair = (*left, "=", right), (solution,)
            found[pair] = found.get(pair, 0) + probability / len(text)
    return found


def stacks(length: int) -> Iterator[tuple[Words, Words]]:
    for size in range(1, max(2, length)):
        for bits in product("01", repeat=size):
            for instructions in product(("pop", "push0", "push1"), repeat=length - size):
                stack = list(bits)
                for instruction in instructions:
                    if instruction != "pop":
                        stack.append(instruction[-1])
                    elif stack:
                        stack.pop()
                yield (*bits, *instructions), tuple(reversed(stack))


def duplicates(length: int) -> Iterator[tuple[Words, Words]]:
    for half in strings("01", length // 2):
        for place in range(len(half) * 2):
            words = [*half, *half, *("#" * (length % 2))]
            missing, words[place] = words[place], "_"
            yield tuple(words), (missing,)


def operations(sign: str) -> Callable[[int], Iterator[tuple[Words, Words]]]:
    def pairs(length: int) -> Iterator[tuple[Words, Words]]:
        for size in range(1, length - 1):
            for a, b in product(range(1, 2**size), range(1, 2 ** (length - 1 - size))):
                first, second = f"{a:0{size}b}"[::-1], f"{b:0{length - 1 - size}b}"[::-1]
                result = a + b if sign == "+" else a * b
                yield (*first, sign, *second), tuple(f"{result:b}"[::-1])

    return pairs


def roots(length: int) -> Iterator[tuple[Words, Words]]:
    for number in range(1, 2**length):
        yield tuple(f"{number:0{length}b}"), tuple(f"{isqrt(number):0{(length + 1) // 2}b}")


REFERENCE: dict[str, Callable[[int], Iterator[tuple[Words, Words]]]] = {
    **reference.REFERENCE,
    "copy_twice": answered("01", lambda words: (*words, "next", *words[::-1])),
    "repeat": lambda length: (((letter,) * length, (letter,) * 2 * length) for letter in "012"),
    "replace": lambda length: (((a, b, *[a] * length), (b,) * length) for a, b in product("012", repeat=2) if a != b),
    "summation": answered("12", lambda words: [str(sum(map(int, words)) % 3)]),
    "even_pairs": answered("01", lambda words: [str(sum(a != b for a, b in pairwise(words)) % 2)]),
    "cycle_navigation": answered("lsr", lambda words: [str((words.count("r") - words.count("l")) % 3)]),
    "modular_arithmetic": sums_without_brackets,
    "stack_manipulation": stacks,
    "modular_arithmetic_brackets": lambda length: (
        (tuple(text), (value(tuple(text), 3),)) for text in expressions(length, 3, "+-*")
    ),
    "solve_equation": lambda length: iter(equations(length, 3)),
    "missing_duplicate_string": duplicates,
    "odds_first": answered("01", lambda words: words[::2] + words[1::2]),
    "binary_addition": operations("+"),
    "binary_multiplication": operations("*"),
    "compute_sqrt": roots,
    "bucket_sort": answered("012", lambda words: tuple(sorted(words))),
    "without_end": answered("01", lambda words: words[::2] + words[1::2]),
}
