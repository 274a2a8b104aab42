"""The tasks' answers as one would work them out by hand, and all prompts up to a small length."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, permutations, product
from typing import Any

Words = tuple[str, ...]

# Small versions of the tasks, by name: the arguments of the constructor.
SMALL: dict[str, dict[str, Any]] = {
    "majority": {},
    "interleaved_majority": {"strands": 2},
    "mode": {"symbols": 3},
    "parity": {"uniform": "ones"},
    "sorted_or_not": {"symbols": 4},
    "copy": {"symbols": 2},
    "copy_distinct": {"symbols": 4},
    "reverse": {"symbols": 3},
    "sort": {"symbols": 4},
    "selective_copy": {"symbols": 2, "items": 2},
    "count": {"symbols": 5},
    "addition": {"base": 2, "format": "plain", "hints": 9},
    "flip_flop": {"ignore": 0.5},
    "mqar": {"keys": 3, "values": 2, "queries": 1},
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


# All prompts of a length, each with its answer.
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
}
