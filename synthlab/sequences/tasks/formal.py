"""Formal languages: regular ones, by finite automata; and Dyck's, shuffles of it, and a^n b^n c^n ..."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from math import comb
from string import ascii_lowercase
from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from synthlab.errors import InputError
from synthlab.sequences.automata import Automaton
from synthlab.sequences.task import FormalLanguage, Strings, draw_ranks, mask_lengths

# Each of Tomita's languages: the next state of each state after 0 and after 1, and the accepting states. State 0 is the
# first.
TOMITA: Mapping[int, Automaton] = {
    1: (((1, 0), (1, 1)), frozenset({0})),  # 1*
    2: (((2, 1), (0, 2), (2, 2)), frozenset({0})),  # (10)*
    # No odd number of ones is ever followed by an odd number of zeros. 0: no ones, or an even number of them in the
    # present run; 1: odd; 2: then an odd number of zeros; 3: then an even number.
    3: (((0, 1), (2, 0), (3, 4), (2, 1), (4, 4)), frozenset({0, 1, 3})),
    4: (((1, 0), (2, 0), (3, 0), (3, 3)), frozenset({0, 1, 2})),  # no 000
    5: (((1, 2), (0, 3), (3, 0), (2, 1)), frozenset({0})),  # even numbers of zeros and of ones
    6: (((1, 2), (2, 0), (0, 1)), frozenset({0})),  # as many zeros as ones, modulo 3
    7: (((0, 1), (2, 1), (2, 3), (4, 3), (4, 4)), frozenset({0, 1, 2, 3})),  # 0*1*0*1*
}
# Each language: its letters; for each state the next state after each letter; the accepting states. State 0 is the
# first. A letter that a state omits leads to a dead state.
LANGUAGES: Mapping[str, tuple[str, Sequence[Mapping[str, int]], frozenset[int]]] = {
    "aaaa_star": ("a", [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 0}], frozenset({0})),  # (aaaa)*
    "abab_star": ("ab", [{"a": 1}, {"b": 2}, {"a": 3}, {"b": 0}], frozenset({0})),  # (abab)*
    "aa_star_bb_star_cc_star_dd_star_ee_star": (  # aa*bb*cc*dd*ee*
        "abcde",
        [{"a": 1}, {"a": 1, "b": 2}, {"b": 2, "c": 3}, {"c": 3, "d": 4}, {"d": 4, "e": 5}, {"e": 5}],
        frozenset({5}),
    ),
    "ab_star_d_bc_star": ("abcd", [{"a": 0, "b": 0, "d": 1}, {"b": 1, "c": 1}], frozenset({1})),  # {a,b}*d{b,c}*
    # {0,1,2}*02*. 1: of the symbols other than 2, the last is 0.
    "012_star_0_2_star": ("012", [{"0": 1, "1": 0, "2": 0}, {"0": 1, "1": 0, "2": 1}], frozenset({1})),
}
BRACKETS = "()[]{}<>"


class RegularLanguage(FormalLanguage):
    """A regular language. Strings are uniform among those of a length."""

    # Each state's next states, one for each symbol, where the first state is 0; the accepting states.
    automaton: Automaton

    def has(self, length: int) -> bool:
        return has_strings(self.automaton, length)

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Strings:
        symbols, states = draw_paths(self.automaton, lengths, generator)
        return symbols, self.sets()[states]

    def sets(self) -> Bool[Tensor, "Q C"]:
        """Return the set of next symbols, and whether the string may end, in each state Q."""
        table, accepting = self.automaton
        states = len(table)
        # True if some string leads from the state to an accepting one.
        live = _completions(self.automaton, states)[:states].sum(0) > 0
        ends = torch.tensor([state in accepting for state in range(states)])
        return torch.cat((live[torch.tensor(table)], ends[:, None]), 1)

    def chance(self, length: int) -> float:
        """Return the share of strings whose sets are all the same: those that a constant answer gets right."""
        table, accepting = self.automaton
        sets = self.sets()
        same = (sets == sets[0]).all(1)  # a constant answer has to be right after begin too
        inside = tuple(tuple(state if same[state] else -1 for state in row) for row in table)
        ends = frozenset(state for state in accepting if same[state])
        return count_strings(inside, ends, length) / max(1, count_strings(table, accepting, length))


class AAStar(RegularLanguage):
    """(aa)*: an even number of a's."""

    source = "Bhattamishra et al., 2020, arXiv 2009.11264, section 5; Huang et al., 2025, arXiv 2410.02140, appendix"
    symbols = ("a",)
    automaton = ((1,), (0,)), frozenset({0})


class Tomita(RegularLanguage):
    """One of Tomita's seven languages of zeros and ones, by ``number``.

    1, 1*; 2, (10)*; 3, no odd run of ones right before an odd run of zeros; 4, no 000; 5, even numbers of zeros and of
    ones; 6, as many zeros as ones modulo 3; 7, 0*1*0*1*.
    """

    source = "Tomita, 1982; Bhattamishra et al., 2020, arXiv 2009.11264"
    departs = "strings are uniform among those of a length"
    symbols = ("0", "1")

    def __init__(self, number: Annotated[int, Field(ge=1, le=7)]):
        self.automaton = TOMITA[number]


class PatternLanguage(RegularLanguage):
    """A regular language, by ``pattern``.

    aaaa_star, (aaaa)*; abab_star, (abab)*; aa_star_bb_star_cc_star_dd_star_ee_star, aa*bb*cc*dd*ee*; ab_star_d_bc_star,
    {a,b}*d{b,c}*; 012_star_0_2_star, {0,1,2}*02*.
    """

    source = "Bhattamishra et al., 2020, arXiv 2009.11264; Huang et al., 2025, arXiv 2410.02140, and the authors' code"
    departs = "strings are uniform among those of a length"

    def __init__(self, language: str):
        if language not in LANGUAGES:
            raise InputError(f"task.language={language}: must be one of {', '.join(LANGUAGES)}")
        letters, states, accepting = LANGUAGES[language]
        self.symbols, dead = tuple(letters), len(states)
        table = tuple(tuple(state.get(letter, dead) for letter in letters) for state in [*states, {}])
        self.automaton = table, accepting


class BoundedDyck(RegularLanguage):
    """D_n, Dyck's language of depth at most n = ``depth``: D_0 is the empty string, D_n = (a D_(n-1) b)*."""

    source = "Bhattamishra et al., 2020, arXiv 2009.11264; Huang et al., 2025, arXiv 2410.02140: D_2, D_3, D_4, D_12"
    departs = "strings are uniform among those of a length, so that few of the short ones are deep"
    symbols = ("a", "b")

    def __init__(self, depth: Annotated[int, Field(ge=1, le=1000)]):
        dead = depth + 1  # a state is a height; the dead state is one above the greatest
        table = [(height + 1, height - 1 if height else dead) for height in range(dead)]
        self.automaton = (*table, (dead, dead)), frozenset({0})


def has_strings(automaton: Automaton, length: int) -> bool:
    """Return True if the automaton accepts a string of this length."""
    # Round the table's size up, so that few tables serve all lengths.
    return bool(_completions(automaton, 1 << length.bit_length())[length, 0] > 0)


def draw_paths(
    automaton: Automaton, lengths: Int[Tensor, " B"], generator: torch.Generator
) -> tuple[Int[Tensor, "B L"], Int[Tensor, "B K"]]:
    """Draw an accepted string of each of ``lengths``, all equally likely, right-padded.

    Returns:
        The numbers of the symbols; and the states after the first 0, 1, ..., L of them, K = L + 1.
    """
    longest = int(lengths.max())
    following, completions = torch.tensor(automaton[0]), _completions(automaton, longest)
    states = torch.zeros(len(lengths), longest + 1, dtype=torch.long)
    symbols = torch.zeros(len(lengths), longest, dtype=torch.long)
    shares = torch.rand(len(lengths), longest, generator=generator, dtype=torch.float64)
    for place in range(longest):
        choices = following[states[:, place]]
        left = (lengths - place - 1).clamp(min=0)
        weights = completions[left[:, None], choices].cumsum(1)
        # The number of cumulative shares that the draw exceeds; all where the string has ended.
        drawn = (shares[:, place, None] * weights[:, -1:] >= weights).sum(1).clamp(max=following.shape[1] - 1)
        symbols[:, place] = drawn
        states[:, place + 1] = choices.gather(1, drawn[:, None])[:, 0]
    return symbols, states


@lru_cache(maxsize=64)
def _completions(automaton: Automaton, longest: int) -> Float[Tensor, "K Q"]:
    """Return how many strings of k = 0, ..., ``longest`` symbols lead from each state to an accepting one.

    Each row is divided by its largest count, which could overflow.
    """
    table, accepting = torch.tensor(automaton[0]), automaton[1]
    row = torch.tensor([float(state in accepting) for state in range(len(table))], dtype=torch.float64)
    rows = [row]
    for _ in range(longest):
        row = row[table].sum(1)
        row = row / row.max().clamp(min=1.0)
        rows.append(row)
    return torch.stack(rows)


def count_strings(table: Sequence[Sequence[int]], accepting: frozenset[int], length: int) -> int:
    """Count the strings of a length that are accepted, exactly; -1 is a state without exits."""
    ways = {0: 1}
    for _ in range(length):
        after: dict[int, int] = {}
        for state, number in ways.items():
            for following in table[state]:
                if following >= 0:
                    after[following] = after.get(following, 0) + number
        ways = after
    return sum(number for state, number in ways.items() if state in accepting)


class Dyck(FormalLanguage):
    """Brackets of several ``kinds``, each of which is well nested if the others are ignored.

    One kind gives Dyck-1, two give Shuffle-2. Strings are uniform among those of a length, which is even.
    """

    source = "Bhattamishra et al., 2020, arXiv 2009.11264; Huang et al., 2025, arXiv 2410.02140: Dyck-1, Shuffle-2"
    departs = "strings are uniform among those of a length"
    shortest = 2

    def __init__(self, kinds: Annotated[int, Field(ge=1, le=4)]):
        self.kinds = kinds
        self.symbols = tuple(BRACKETS[: 2 * kinds])

    def has(self, length: int) -> bool:
        return super().has(length) and length % 2 == 0

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Strings:
        longest, left = int(lengths.max()), lengths // 2  # pairs that remain to be drawn
        symbols, order = torch.zeros(len(lengths), longest, dtype=torch.long), draw_ranks(lengths, longest, generator)
        for kind in range(self.kinds):
            pairs = _first_kind(left, self.kinds - kind, generator)
            held = (order >= 0) & (order < 2 * pairs[:, None])  # a random subset of the free places
            word = words(pairs, generator).gather(1, (held.cumsum(1) - 1).clamp(min=0))
            symbols = symbols.where(~held, 2 * kind + word)
            left, order = left - pairs, order - 2 * pairs[:, None]
        return symbols, self._sets(symbols)

    def _sets(self, symbols: Int[Tensor, "B L"]) -> Bool[Tensor, "B K C"]:
        change = F.one_hot(symbols // 2, self.kinds) * (1 - 2 * (symbols % 2))[..., None]
        open_ = F.pad(change.cumsum(1), (0, 0, 1, 0)) > 0  # True if there is a bracket of each kind to close
        brackets = torch.stack((torch.ones_like(open_), open_), 3).flatten(2)
        return torch.cat((brackets, ~open_.any(2, keepdim=True)), 2)

    def chance(self, length: int) -> float:
        return 0.0  # no constant set is right: only after the first bracket is there one to close


class AnBn(FormalLanguage):
    """a^n b^n, a^n b^n c^n and so on, with ``letters`` letters and n of 1 or more.

    Lengths are multiples of ``letters``.
    """

    source = "Bhattamishra et al., 2020, arXiv 2009.11264; Huang et al., 2025, arXiv 2410.02140: AnBn, AnBnCn, AnBnCnDn"

    def __init__(self, letters: Annotated[int, Field(ge=2, le=26)]):
        self.symbols = tuple(ascii_lowercase[:letters])
        self.shortest = letters

    def has(self, length: int) -> bool:
        return super().has(length) and length % len(self.symbols) == 0

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Strings:
        seen, count = torch.arange(int(lengths.max()) + 1), len(self.symbols)
        each = (lengths // count)[:, None]
        following = (seen // each).clamp(max=count)  # the letter after that many symbols; after all of them the end
        sets = F.one_hot(following, count + 1).bool()
        # Within the a's, the number of a's is still unknown.
        sets[..., :2] |= ((seen > 0) & (seen <= each))[..., None]
        return following[:, :-1].clamp(max=count - 1), sets

    def chance(self, length: int) -> float:
        return 0.0  # no constant set is right: only after the first a may there be a b


def words(pairs: Int[Tensor, " B"], generator: torch.Generator) -> Int[Tensor, "B W"]:
    """Draw well nested brackets, with ``pairs`` pairs in each row, all equally likely: 0 opens, 1 closes.

    What follows them in a row is arbitrary. By the cycle lemma (Dvoretzky and Motzkin, 1947), exactly one of the
    rotations of n + 1 steps up and n down stays above its beginning. Its first step goes up; the others are the
    brackets.
    """
    sizes = 2 * pairs + 1
    ups = draw_ranks(sizes, int(sizes.max()), generator) <= pairs[:, None]
    steps = torch.where(ups, 1, -1)
    before = (steps.cumsum(1) - steps).where(mask_lengths(sizes, ups.shape[1]), ups.shape[1])  # heights before steps
    lowest = ups.shape[1] - 1 - before.flip(1).argmin(1)  # the last of the lowest points, where that rotation begins
    order = (lowest[:, None] + 1 + torch.arange(ups.shape[1])) % sizes[:, None]
    return (~ups).long().gather(1, order)


def _first_kind(pairs: Int[Tensor, " B"], kinds: int, generator: torch.Generator) -> Int[Tensor, " B"]:
    """Draw how many of ``pairs`` pairs of ``kinds`` kinds are of the first kind."""
    if kinds == 1:
        return pairs
    # Round the table's size up, so that few tables are made.
    table = _cumulative(kinds, 1 << int(pairs.max()).bit_length())
    shares = torch.rand(len(pairs), 1, generator=generator, dtype=torch.float64)
    return (shares >= table[pairs]).sum(1)


@lru_cache(maxsize=16)
def _cumulative(kinds: int, most: int) -> Float[Tensor, "M M"]:
    """Return, among strings of m pairs, the share with at most k of the first kind.

    Both m and k are 0, ..., ``most``.
    """
    catalan = [comb(2 * pairs, pairs) // (pairs + 1) for pairs in range(most + 1)]
    number, ways = catalan, [[1]]  # the number of strings of m pairs; of those with k pairs of the first kind
    for _ in range(kinds - 1):
        ways = [[comb(2 * m, 2 * k) * catalan[k] * number[m - k] for k in range(m + 1)] for m in range(most + 1)]
        number = [sum(each) for each in ways]
    table = torch.ones(most + 1, most + 1, dtype=torch.float64)
    for m, each in enumerate(ways):
        table[m, : m + 1] = torch.tensor([count / number[m] for count in accumulate(each)], dtype=torch.float64)
    return table
