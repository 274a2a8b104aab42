"""Needles: codes of names, hidden in background (RULER, Hsieh et al. 2024, tasks niah_*; wording of our own)."""

from itertools import islice

from synthlab.huggingface.benchmarks.draws import Draws
from synthlab.huggingface.benchmarks.sample import Draft
from synthlab.huggingface.benchmarks.words import SHORT, background, names, numbers

NEEDLES = 4  # with several keys or values, as in RULER


def needle(draws: Draws, depth: float) -> Draft:
    """One name and its code."""
    return _keys(draws, depth, 1)


def needle_keys(draws: Draws, depth: float) -> Draft:
    """Four names with their codes, of which one is asked for; the others are anywhere."""
    return _keys(draws, depth, NEEDLES)


def needle_values(draws: Draws, depth: float) -> Draft:
    """One name with four codes, all asked for; the first is at ``depth``, the others anywhere after it."""
    key = next(names(draws))
    places = sorted([depth, *(draws.between(depth, 1) for _ in range(NEEDLES - 1))])
    codes = numbers(draws, NEEDLES)
    facts = [(place, f"One code of {key} is {code}.") for place, code in zip(places, codes, strict=True)]
    return in_background(draws, facts, f"The codes of {key} are", tuple(codes), depth)


def _keys(draws: Draws, depth: float, count: int) -> Draft:
    keys, codes = list(islice(names(draws), count)), numbers(draws, count)
    places = [depth, *(draws.between(0, 1) for _ in keys[1:])]
    facts = [(place, f"The code of {key} is {code}.") for place, key, code in zip(places, keys, codes, strict=True)]
    return in_background(draws, facts, f"The code of {keys[0]} is", (codes[0],), depth)


def in_background(
    draws: Draws, facts: list[tuple[float, str]], question: str, answers: tuple[str, ...], depth: float
) -> Draft:
    """Facts at their places among sentences that have nothing to do with them."""
    units = ((None, sentence) for sentence in background(draws))
    return Draft(facts, units, question, answers, depth, fillers=tuple((None, text) for text in SHORT))
