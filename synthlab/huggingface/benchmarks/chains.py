"""Chains of facts: variables that are set to one another, and persons who move about."""

from itertools import islice

from synthlab.huggingface.benchmarks.draws import Draws
from synthlab.huggingface.benchmarks.needles import in_background
from synthlab.huggingface.benchmarks.sample import Draft
from synthlab.huggingface.benchmarks.words import MOVES, PERSONS, ROOMS, names, numbers

CHAIN = 3  # variables of one value
OTHERS = 2  # moves of other persons


def tracking(draws: Draws, depth: float) -> Draft:
    """Two chains of three variables: the first of a chain is set to a number, each other to the one before it. Which
    have the number of the first chain? (RULER's variable tracking, which by default has one chain of five.)

    The asked chain begins at ``depth``; what follows of a chain is anywhere after it.
    """
    variables, values, facts = list(islice(names(draws), 2 * CHAIN)), numbers(draws, 2), []
    for chain, value in enumerate(values):
        own = variables[chain * CHAIN : (chain + 1) * CHAIN]
        first = depth if chain == 0 else draws.between(0, 1)
        places = sorted([first, *(draws.between(first, 1) for _ in own[1:])])
        facts += [
            (place, f"Let {name} be {source}.")
            for place, name, source in zip(places, own, [value, *own[:-1]], strict=True)
        ]
    return in_background(draws, facts, f"Equal to {values[0]} are", tuple(variables[:CHAIN]), depth)


def facts(draws: Draws, depth: float) -> Draft:
    """Persons move from room to room, in background text. Where is one of them now? (bAbI's task 1 as in BABILong,
    Kuratov et al. 2024; wording of our own.)

    The person's last move is at ``depth``, an earlier one anywhere before it; another person's moves are anywhere.
    """
    asked, other = draws.some(PERSONS, 2)
    before, now = draws.some(ROOMS, 2)
    moves = [(draws.between(0, depth), asked, before), (depth, asked, now)]
    moves += [(draws.between(0, 1), other, draws.one(ROOMS)) for _ in range(OTHERS)]
    told = [(place, f"{person} {draws.one(MOVES)} the {room}.") for place, person, room in moves]
    return in_background(draws, told, f"{asked} is in the", (now,), depth)
