"""Prompts and answers of every sequence task as one would work them out by hand: ``SMALL`` has the arguments of a small
version of each task, ``REFERENCE`` all its prompts of a length with their answers."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise, permutations, product
from math import isqrt
from typing import Any

Words = tuple[str, ...]

SMALL: dict[str, dict[str, Any]] = {
    **{key: {} for key in ("majority", "even_pairs", "stack_manipulation", "missing_duplicate_string")},
    **{key: {} for key in ("binary_addition", "binary_multiplication", "compute_sqrt")},
    **{key: {"symbols": 2} for key in ("copy", "odds_first")},
    **{key: {"symbols": 3} for key in ("mode", "reverse", "replace", "bucket_sort")},
    **{key: {"symbols": 4} for key in ("sorted_or_not", "copy_distinct", "sort")},
    **{key: {"modulus": 3} for key in ("summation", "modular_arithmetic", "solve_equation")},
    "interleaved_majority": {"strands": 2},
    "parity": {"uniform": "ones"},
    "selective_copy": {"symbols": 2, "items": 2},
    "count": {"symbols": 5},
    "addition": {"base": 2, "format": "plain", "hints": 9},
    "flip_flop": {"ignore": 0.5},
    "mqar": {"keys": 3, "values": 2, "queries": 1},
    "retrieval": {"numbers": 2, "classes": 2, "ask": "greatest"},
    "copy_twice": {"symbols": 2, "first": "forwards", "second": "backwards", "between": True},
    "repeat": {"symbols": 3, "times": 2},
    "cycle_navigation": {"positions": 3},
    "modular_arithmetic_brackets": {"modulus": 3, "products": True},
    "without_end": {"of": {"name": "odds_first", "symbols": 2}},
    "index_hints": {"of": {"name": "reverse", "symbols": 2}, "hints": 6},
    "mixture": {
        "of": [{"name": "copy", "symbols": 2}, {"name": "parity", "uniform": "bits"}],
        "shares": None,
        "upto": [2, None],
        "only": None,
    },
}


def strings(letters: str, length: int) -> Iterator[Words]:
    return product(letters, repeat=length)


def single_mode(words: Words) -> str | None:
    (first, most), *others = Counter(words).most_common()
    return None if others and others[0][1] == most else first


def strands(words: Words) -> list[str | None]:
    return [single_mode(words[start::2]) for start in range(2)]


def sums(length: int) -> Iterator[tuple[Words, Words]]:
    def numbers(digits: int) -> Iterator[int]:
        return iter(range(0 if digits == 1 else 2 ** (digits - 1), 2**digits))

    for other in range(1, length + 1):
        for a, b in product(numbers(length), numbers(other)):
            for first, second in ((a, b), (b, a)):
                yield (*f"{first:b}", "+", *f"{second:b}"), tuple(f"{first + second:b}")


def flips(length: int) -> Iterator[tuple[Words, Words]]:
    for kinds in product("wri", repeat=length - 2):
        what = ("w", *kinds, "r")
        for bits in product("01", repeat=length):
            memory, said = "", []
            for kind, bit in zip(what, bits, strict=True):
                memory = bit if kind == "w" else memory
                said += [kind, memory if kind == "r" else bit]
            yield tuple(said[:-1]), (memory,)


def retrievals(length: int) -> Iterator[tuple[Words, Words]]:
    for items in product(product("01", repeat=2), repeat=length):
        (greatest, letter), *others = sorted(items, reverse=True)
        if greatest != "0" and all(number < greatest for number, _ in others):
            yield tuple(".".join(item) for item in items), ("max?", f"c{letter}")


def recalls(length: int) -> Iterator[tuple[Words, Words]]:
    for keys in permutations(("k0", "k1", "k2"), length):
        for values in product(("v0", "v1"), repeat=length):
            pairs = list(zip(keys, values, strict=True))
            for pair in pairs:
                yield tuple(word for each in pairs for word in each), pair


def swapped(length: int) -> Iterator[tuple[Words, Words]]:
    for chosen in combinations("0123", length):
        yield chosen, ("1",)
        for i, j in combinations(range(length), 2):
            words = list(chosen)
            words[i], words[j] = words[j], words[i]
            yield tuple(words), ("0",)


def blanked(length: int) -> Iterator[tuple[Words, Words]]:
    for words in strings("01_", length):
        kept = tuple(word for word in words if word != "_")
        if len(kept) == 2:
            yield words, kept


def answered(letters: str, answer: Callable[[Words], Any]) -> Callable[[int], Iterator[tuple[Words, Words]]]:
    def pairs(length: int) -> Iterator[tuple[Words, Words]]:
        for words in strings(letters, length):
            said = answer(words)
            if said is not None and None not in said:
                yield words, tuple(said)

    return pairs


def different(words: Words) -> Words | None:
    return words if len(set(words)) == len(words) else None


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


def hinted(length: int) -> Iterator[tuple[Words, Words]]:
    for words, first in product(strings("01", length), range(6 - length)):
        pairs = [(f"h{first + place}", word) for place, word in enumerate(words)]
        yield tuple(word for pair in pairs for word in pair), tuple(word for pair in reversed(pairs) for word in pair)


def mixed(length: int) -> Iterator[tuple[Words, Words]]:
    for words in strings("01", length):
        if length <= 2:
            yield ("task0", *words), words
        yield ("task1", *words), (str(words.count("1") % 2),)


REFERENCE: dict[str, Callable[[int], Iterator[tuple[Words, Words]]]] = {
    "majority": answered("01", lambda words: [single_mode(words)]),
    "interleaved_majority": answered("01", strands),
    "mode": answered("012", lambda words: [single_mode(words)]),
    "parity": answered("01", lambda words: [str(words.count("1") % 2)]),
    "sorted_or_not": swapped,
    "copy": answered("01", lambda words: words),
    "copy_distinct": answered("0123", different),
    "reverse": answered("012", lambda words: words[::-1]),
    "sort": answered("0123", lambda words: different(words) and tuple(sorted(words))),
    "selective_copy": blanked,
    "count": lambda length: (
        ((str(low), str(low + length - 1)), tuple(str(low + step) for step in range(length)))
        for low in range(6 - length)
    ),
    "addition": sums,
    "flip_flop": flips,
    "mqar": recalls,
    "retrieval": retrievals,
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
    "binary_addition": operations("+"),
    "binary_multiplication": operations("*"),
    "compute_sqrt": roots,
    "bucket_sort": answered("012", lambda words: tuple(sorted(words))),
    "index_hints": hinted,
    "mixture": mixed,
    **dict.fromkeys(("odds_first", "without_end"), answered("01", lambda words: words[::2] + words[1::2])),
}
