"""The texts of the synthetic tasks: needles, chains of facts and lists of words, with words of our own.

They follow RULER (Hsieh et al. 2024) and BABILong (Kuratov et al. 2024).
"""

import math
from collections.abc import Iterator
from itertools import islice

import torch

from synthlab.huggingface.benchmarks.draws import Draws
from synthlab.huggingface.benchmarks.sample import Draft, Unit
from synthlab.huggingface.benchmarks.words import MOVES, PERSONS, ROOMS, SHORT, draw_numbers, names, write_background

NEEDLES = 4  # number of keys or values, as in RULER
CHAIN = 3  # number of variables with one value
OTHERS = 2  # number of moves of other persons
ANSWERS = 3  # number of common words
REPEATS = 4  # repetitions of a common word; RULER has 30, against 3 of any other
VOCABULARY = 50  # number of words of frequent_words
POWER = 2.0  # exponent of Zipf's law, as in RULER


def needle(draws: Draws, depth: float) -> Draft:
    """Draw a text with one name and its code."""
    return _keys(draws, depth, 1)


def needle_keys(draws: Draws, depth: float) -> Draft:
    """Draw a text with four names and their codes, of which one is queried; the others are anywhere."""
    return _keys(draws, depth, NEEDLES)


def needle_values(draws: Draws, depth: float) -> Draft:
    """Draw a text with one name and four codes, all queried; the first is at ``depth``, others anywhere after it."""
    key = next(names(draws))
    places = sorted([depth, *(draws.draw_between(depth, 1) for _ in range(NEEDLES - 1))])
    codes = draw_numbers(draws, NEEDLES)
    facts = [(place, f"One code of {key} is {code}.") for place, code in zip(places, codes, strict=True)]
    return in_background(draws, facts, f"The codes of {key} are", tuple(codes), depth)


def _keys(draws: Draws, depth: float, count: int) -> Draft:
    keys, codes = list(islice(names(draws), count)), draw_numbers(draws, count)
    places = [depth, *(draws.draw_between(0, 1) for _ in keys[1:])]
    facts = [(place, f"The code of {key} is {code}.") for place, key, code in zip(places, keys, codes, strict=True)]
    return in_background(draws, facts, f"The code of {keys[0]} is", (codes[0],), depth)


def in_background(
    draws: Draws, facts: list[tuple[float, str]], question: str, answers: tuple[str, ...], depth: float
) -> Draft:
    """Return a draft with facts at their places among unrelated sentences."""
    units = ((None, sentence) for sentence in write_background(draws))
    return Draft(facts, units, question, answers, depth, fillers=tuple((None, text) for text in SHORT))


def tracking(draws: Draws, depth: float) -> Draft:
    """Draw two chains of three variables, and ask which variables have the number of the first chain.

    The first variable of a chain is set to a number, each other to the one before it (RULER's variable tracking, which
    by default has one chain of five). The queried chain begins at ``depth``; the rest of a chain is anywhere after its
    beginning.
    """
    variables, values, facts = list(islice(names(draws), 2 * CHAIN)), draw_numbers(draws, 2), []
    for chain, value in enumerate(values):
        own = variables[chain * CHAIN : (chain + 1) * CHAIN]
        first = depth if chain == 0 else draws.draw_between(0, 1)
        places = sorted([first, *(draws.draw_between(first, 1) for _ in own[1:])])
        facts += [
            (place, f"Let {name} be {source}.")
            for place, name, source in zip(places, own, [value, *own[:-1]], strict=True)
        ]
    return in_background(draws, facts, f"Equal to {values[0]} are", tuple(variables[:CHAIN]), depth)


def facts(draws: Draws, depth: float) -> Draft:
    """Draw moves of persons between places, in background text, and ask where one of them is now.

    This is bAbI's task 1 as in BABILong (Kuratov et al. 2024), with wording of our own. The person's last move is at
    ``depth``, an earlier one anywhere before it; another person's moves are anywhere.
    """
    asked, other = draws.draw_some(PERSONS, 2)
    before, now = draws.draw_some(ROOMS, 2)
    moves = [(draws.draw_between(0, depth), asked, before), (depth, asked, now)]
    moves += [(draws.draw_between(0, 1), other, draws.draw_one(ROOMS)) for _ in range(OTHERS)]
    told = [(place, f"{person} {draws.draw_one(MOVES)} the {room}.") for place, person, room in moves]
    return in_background(draws, told, f"{asked} is in the", (now,), depth)


def common_words(draws: Draws, depth: float) -> Draft:
    """Draw a list in which three words occur four times each, all others once."""
    del depth  # the answer is spread over the text
    words = names(draws)
    common = list(islice(words, ANSWERS))
    placed = [(draws.draw_between(0, 1), word) for word in common for _ in range(REPEATS)]
    units = ((draws.draw_between(0, 1), word) for word in words)
    return Draft(placed, units, "The most common words:", tuple(common), math.nan, "Words: ")


def frequent_words(draws: Draws, depth: float) -> Draft:
    """Draw words by Zipf's law. Each of the three most frequent ones occurs more often than any other."""
    del depth
    words = list(islice(names(draws), VOCABULARY))
    top = words[:ANSWERS]
    placed = [(draws.draw_between(0, 1), word) for word in top]
    fillers: tuple[Unit, ...] = tuple((draws.draw_between(0, 1), word) for word in top)
    return Draft(placed, _zipf(draws, words), "The most frequent words:", tuple(top), math.nan, "Words: ", fillers)


def _zipf(draws: Draws, words: list[str]) -> Iterator[Unit]:
    """Yield words by Zipf's law; a word that would be as frequent as one of the first three is replaced by that one."""
    chances = torch.arange(1, len(words) + 1, dtype=torch.float64) ** -POWER
    counts = [1] * ANSWERS + [0] * (len(words) - ANSWERS)
    while True:
        rank = int(torch.multinomial(chances, 1, generator=draws.generator))
        least = min(range(ANSWERS), key=counts.__getitem__)
        if rank >= ANSWERS and counts[rank] + 1 >= counts[least]:
            rank = least
        counts[rank] += 1
        yield draws.draw_between(0, 1), words[rank]
