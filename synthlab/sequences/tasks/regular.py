"""Regular languages, by finite automata."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from synthlab.errors import InputError
from synthlab.sequences.formal_languages import FormalLanguage, Strings
from synthlab.sequences.task import check_bounds

Automaton = tuple[Sequence[Sequence[int]], frozenset[int]]

# Each of Tomita's languages: the next state of each state after 0 and after 1, and the accepting states. State 0 is the
# first.
TOMITA: Mapping[int, Automaton] = {
    1: ([(1, 0), (1, 1)], frozenset({0})),  # 1*
    2: ([(2, 1), (0, 2), (2, 2)], frozenset({0})),  # (10)*
    # No odd number of ones is ever followed by an odd number of zeros. 0: no ones, or an even number of them in the
    # present run; 1: odd; 2: then an odd number of zeros; 3: then an even number.
    3: ([(0, 1), (2, 0), (3, 4), (2, 1), (4, 4)], frozenset({0, 1, 3})),
    4: ([(1, 0), (2, 0), (3, 0), (3, 3)], frozenset({0, 1, 2})),  # no 000
    5: ([(1, 2), (0, 3), (3, 0), (2, 1)], frozenset({0})),  # even numbers of zeros and of ones
    6: ([(1, 2), (2, 0), (0, 1)], frozenset({0})),  # as many zeros as ones, modulo 3
    7: ([(0, 1), (2, 1), (2, 3), (4, 3), (4, 4)], frozenset({0, 1, 2, 3})),  # 0*1*0*1*
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


class RegularLanguage(FormalLanguage):
    """A regular language. Strings are uniform among those of a length."""

    # Each state's next states, one for each symbol, where the first state is 0; the accepting states.
    automaton: Automaton

    def has(self, length: int) -> bool:
        # Round the table's size up, so that few tables serve all lengths.
        return bool(_completions(self._key(), 1 << length.bit_length())[length, 0] > 0)

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Strings:
        longest = int(lengths.max())
        following, completions = torch.tensor(self._key()[0]), _completions(self._key(), longest)
        states = torch.zeros(len(lengths), longest + 1, dtype=torch.long)
        symbols = torch.zeros(len(lengths), longest, dtype=torch.long)
        shares = torch.rand(len(lengths), longest, generator=generator, dtype=torch.float64)
        for place in range(longest):
            choices = following[states[:, place]]
            left = (lengths - place - 1).clamp(min=0)
            weights = completions[left[:, None], choices].cumsum(1)
            # The number of cumulative shares that the draw exceeds; all where the string has ended.
            drawn = (shares[:, place, None] * weights[:, -1:] >= weights).sum(1).clamp(max=len(self.symbols) - 1)
            symbols[:, place] = drawn
            states[:, place + 1] = choices.gather(1, drawn[:, None])[:, 0]
        return symbols, self.sets()[states]

    def sets(self) -> Bool[Tensor, "Q C"]:
        """Return the set of next symbols, and whether the string may end, in each state Q."""
        table, accepting = self._key()
        states = len(table)
        # True if some string leads from the state to an accepting one.
        live = _completions(self._key(), states)[:states].sum(0) > 0
        ends = torch.tensor([state in accepting for state in range(states)])
        return torch.cat((live[torch.tensor(table)], ends[:, None]), 1)

    def chance(self, length: int) -> float:
        """Return the share of strings whose sets are all the same: those that a constant answer gets right."""
        table, accepting = self._key()
        sets = self.sets()
        same = (sets == sets[0]).all(1)  # a constant answer has to be right after begin too
        inside = tuple(tuple(state if same[state] else -1 for state in row) for row in table)
        ends = frozenset(state for state in accepting if same[state])
        return _count_strings(inside, ends, length) / max(1, _count_strings(table, accepting, length))

    def _key(self) -> tuple[tuple[tuple[int, ...], ...], frozenset[int]]:
        table, accepting = self.automaton
        return tuple(map(tuple, table)), accepting


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

    def __init__(self, number: int):
        self.automaton = TOMITA[check_bounds("number", number, 1, len(TOMITA))]


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
        self.automaton = [[state.get(letter, dead) for letter in letters] for state in [*states, {}]], accepting


class BoundedDyck(RegularLanguage):
    """D_n, Dyck's language of depth at most n = ``depth``: D_0 is the empty string, D_n = (a D_(n-1) b)*."""

    source = "Bhattamishra et al., 2020, arXiv 2009.11264; Huang et al., 2025, arXiv 2410.02140: D_2, D_3, D_4, D_12"
    departs = "strings are uniform among those of a length, so that few of the short ones are deep"
    symbols = ("a", "b")

    def __init__(self, depth: int):
        dead = (
            check_bounds("depth", depth, 1, 1000) + 1
        )  # a state is a height; the dead state is one above the greatest
        table = [(height + 1, height - 1 if height else dead) for height in range(dead)]
        self.automaton = [*table, (dead, dead)], frozenset({0})


@lru_cache(maxsize=64)
def _completions(key: tuple[tuple[tuple[int, ...], ...], frozenset[int]], longest: int) -> Float[Tensor, "K Q"]:
    """Return how many strings of k = 0, ..., ``longest`` symbols lead from each state to an accepting one.

    Each row is divided by its largest count, which could overflow.
    """
    table, accepting = torch.tensor(key[0]), key[1]
    row = torch.tensor([float(state in accepting) for state in range(len(table))], dtype=torch.float64)
    rows = [row]
    for _ in range(longest):
        row = row[table].sum(1)
        row = row / row.max().clamp(min=1.0)
        rows.append(row)
    return torch.stack(rows)


def _count_strings(table: Sequence[Sequence[int]], accepting: frozenset[int], length: int) -> int:
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
