"""The words of synthetic texts: invented names, numbers, and background sentences."""

from collections.abc import Iterator
from itertools import product

from synthlab.huggingface.benchmarks.draws import Draws

PERSONS = ("Mary", "John", "Sandra", "Daniel", "Julie", "Fred", "Bill", "Emily")
ROOMS = ("kitchen", "garden", "hallway", "office", "bathroom", "bedroom", "cellar", "attic")
MOVES = ("went to", "moved to", "walked to", "ran to")

# No word below is a person, a place of the tasks or an invented name.
SORTS = ("old", "grey", "quiet", "young", "tall", "bright", "slow", "small", "green", "plain")
THINGS = ("fox", "horse", "bird", "farmer", "clock", "wagon", "child", "stone", "ship", "wind", "cat", "teacher")
VERBS = ("slept", "waited", "stood", "turned", "rested", "passed", "stayed", "sang")
PLACES = ("near the river", "by the road", "under the tree", "on the hill", "in the field", "at the bridge")
# These fill gaps that no drawn sentence fits.
SHORT = ("The rain began again.", "The night was cold.", "Nobody spoke.", "The sun set.", "It rained.")

SYLLABLES = tuple(map("".join, product("bdfgklmnprstvz", "aiou")))
NAMES = tuple(map("".join, product(SYLLABLES, repeat=2)))  # 3,136 names of four letters
LONGER = tuple(map("".join, product(SYLLABLES, repeat=3)))  # 175,616 names of six letters


def names(draws: Draws) -> Iterator[str]:
    """Yield invented names in random order, each once: those of four letters, then those of six."""
    for each in (NAMES, LONGER):
        yield from draws.draw_some(each, len(each))


def draw_number(draws: Draws) -> str:
    """Draw a number of five digits, as text."""
    return str(10_000 + draws.draw_below(90_000))


def draw_numbers(draws: Draws, count: int) -> list[str]:
    """Draw ``count`` different numbers of five digits."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[draw_number(draws)] = None
    return list(found)


def write_background(draws: Draws) -> Iterator[str]:
    """Yield unrelated sentences, without end."""
    while True:
        yield f"The {draws.draw_one(SORTS)} {draws.draw_one(THINGS)} {draws.draw_one(VERBS)} {draws.draw_one(PLACES)}."
