"""Texts of facts, questions and links by brute force: all of them, and how likely each is."""

from collections import defaultdict
from collections.abc import Iterator, Sequence


def worlds(keys: int, values: int) -> Iterator[tuple[int, ...]]:
    """All assignments of values to keys."""
    if not keys:
        yield ()
        return
    for rest in worlds(keys - 1, values):
        for value in range(values):
            yield (*rest, value)


def units(
    keys: int,
    values: int,
    fillers: int,
    facts: float,
    questions: float,
    about: Sequence[int],
    world: Sequence[int],
    links: float = 0.0,
) -> Iterator[tuple[int, int | None, float]]:
    """The units of a text about some of its keys: the first token, the key asked for if any, the probability."""
    for key in about:
        yield key * values + world[key], None, facts / len(about)
        yield keys * values + key, key, questions / len(about)
    first = keys * values + keys + values
    for filler in range(fillers):
        yield first + filler, None, (1 - facts - questions - links) / fillers
    pairs = [(a, b) for a in about for b in about if a != b and world[a] == world[b]]
    for a, b in pairs if links else []:
        yield first + fillers + a * keys + b, None, links / len(pairs)


def enumerated(sizes: dict, length: int) -> dict[tuple[int, ...], float]:
    """All windows of ``length`` tokens and their probabilities, by way of all values and all units."""
    keys, values, questions = sizes["keys"], sizes["values"], sizes["questions"]
    answers = keys * values + keys
    found = defaultdict(float)

    def grow(window, asked, probability, world):
        if len(window) == length:
            found[window] += probability
        elif asked is not None:
            grow((*window, answers + world[asked]), None, probability, world)
        else:
            for token, key, share in units(**sizes, about=range(keys), world=world):
                grow((*window, token), key, probability * share, world)

    for world in worlds(keys, values):
        whole = 1 / values**keys / (1 + questions)
        grow((), None, whole, world)
        for key in range(keys):
            grow((), key, whole * questions / keys, world)
    return {window: probability for window, probability in found.items() if probability > 0}
