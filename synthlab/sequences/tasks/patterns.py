"""Regular languages by name, and Dyck's language of bounded depth."""

from collections.abc import Mapping, Sequence

from synthlab.errors import InputError
from synthlab.sequences.problem import bounded
from synthlab.sequences.tasks.regular import RegularLanguage

# Of each language its letters; for each state where each letter leads; the accepting states. State 0 is the first. A
# letter that a state leaves out leads to a dead state.
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


class Pattern(RegularLanguage):
    """A regular language: aaaa_star, (aaaa)*; abab_star, (abab)*; aa_star_bb_star_cc_star_dd_star_ee_star,
    aa*bb*cc*dd*ee*; ab_star_d_bc_star, {a,b}*d{b,c}*; 012_star_0_2_star, {0,1,2}*02*."""

    source = "Bhattamishra et al., 2020, arXiv 2009.11264; Huang et al., 2025, arXiv 2410.02140, and the authors' code"
    departs = "strings are uniform among those of a length"

    def __init__(self, language: str):
        if language not in LANGUAGES:
            raise InputError(f"task.language={language}: must be one of {', '.join(LANGUAGES)}")
        letters, self.states, self.accepting = LANGUAGES[language]
        self.symbols = tuple(letters)

    @property
    def automaton(self) -> tuple[Sequence[Sequence[int]], frozenset[int]]:
        dead = len(self.states)
        table = [[state.get(letter, dead) for letter in self.symbols] for state in self.states]
        return [*table, [dead] * len(self.symbols)], self.accepting


class BoundedDyck(RegularLanguage):
    """D_n, Dyck's language of depth at most n = ``depth``: D_0 is the empty string, D_n = (a D_(n-1) b)*."""

    source = "Bhattamishra et al., 2020, arXiv 2009.11264; Huang et al., 2025, arXiv 2410.02140: D_2, D_3, D_4, D_12"
    departs = "strings are uniform among those of a length, so that few of the short ones are deep"
    symbols = ("a", "b")

    def __init__(self, depth: int):
        self.depth = bounded("depth", depth, 1, 1000)

    @property
    def automaton(self) -> tuple[Sequence[Sequence[int]], frozenset[int]]:
        dead = self.depth + 1
        # A state is a height; above the greatest one is the dead state.
        table = [(height + 1, height - 1 if height else dead) for height in range(dead)]
        return [*table, (dead, dead)], frozenset({0})
