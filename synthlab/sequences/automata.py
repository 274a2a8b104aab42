"""Finite automata: the minimal one of a regular expression, and the classes of its language, decided exactly.

The classes, each of which contains those before: the R-trivial languages; those in C-RASP; those in R o G (Yang et al.,
2026, arXiv 2608.13433, theorems 13 and 14). All but the last are star-free. Strings act on the states of an automaton;
the product of two strings acts as the first, then the second.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from random import Random

from synthlab.errors import InputError

Table = tuple[tuple[int, ...], ...]  # each state's next states, one for each letter, where the first state is 0
Automaton = tuple[Table, frozenset[int]]  # and the accepting states
Function = tuple[int, ...]  # how a string acts: the state after it, from each state
Expression = frozenset[tuple["str | Expression", ...]]  # alternatives: products of letters and repeated expressions

# The expressions of ``random_expression`` are drawn with these probabilities of a rule, and of a letter, to this depth.
# The authors' code (src/regex_generation/generate_regexes.py) has them in a comment.
RULES = {"union": 0.1, "product": 0.6, "star": 0.2, "letter": 0.1}
LETTERS = {"a": 0.4, "b": 0.4, "c": 0.2}
DEPTH = 3


def compile_expression(expression: str) -> tuple[str, Automaton]:
    """Return the letters of a regular expression, in order, and the minimal automaton of its language.

    Raises:
        InputError: The expression has other signs than letters, brackets, ``|``, ``*`` and ``+`` (one or more).

    Example:
        >>> from synthlab.sequences.automata import classify, compile_expression
        >>> letters, automaton = compile_expression("(ab)*")
        >>> automaton  # state 2 is dead
        (((1, 2), (2, 0), (2, 2)), frozenset({0}))
        >>> classify(automaton)
        'c_rasp'
    """
    letters = sorted(set(expression) - set("()|*+"))
    first, end = _parse_union(expression, 0)
    if end != len(expression) or not letters or not "".join(letters).isalnum():
        raise InputError(f"task.expression={expression}: must be a regular expression of letters, (), |, * and +")
    states, numbers, table = [first], {first: 0}, []
    for state in states:  # which grows
        after = [_derive(state, letter) for letter in letters]
        states.extend(each for each in dict.fromkeys(after) if each not in numbers)
        numbers = {each: number for number, each in enumerate(states)}
        table.append(tuple(numbers[each] for each in after))
    accepting = frozenset(number for each, number in numbers.items() if any(map(_is_repeated, each)))
    return "".join(letters), minimize((tuple(table), accepting))


def _parse_union(text: str, at: int) -> tuple[Expression, int]:
    """Return the expression that begins at a place of ``text``, and where it ends."""
    found, at = _parse_product(text, at)
    while text[at : at + 1] == "|":
        other, at = _parse_product(text, at + 1)
        found |= other
    return found, at


def _parse_product(text: str, at: int) -> tuple[Expression, int]:
    found: Expression = frozenset({()})
    while at < len(text) and text[at] not in "|)*+":
        if text[at] == "(":
            part, at = _parse_union(text, at + 1)
            at += 1 if text[at : at + 1] == ")" else len(text)  # beyond the end, which is refused
        else:
            part, at = frozenset({(text[at],)}), at + 1
        while text[at : at + 1] in ("*", "+"):
            part = frozenset({(part,)} if text[at] == "*" else {(*each, part) for each in part})
            at += 1
        found = frozenset((*one, *other) for one in found for other in part)
    return found, at


def _derive(expression: Expression, letter: str) -> Expression:
    """Return what may follow a letter (Antimirov, 1996, Theoretical Computer Science 155)."""
    found = set()
    for first, *rest in filter(None, expression):
        if isinstance(first, frozenset):
            found |= {(*each, first, *rest) for each in _derive(first, letter)}
            found |= _derive(frozenset({tuple(rest)}), letter)
        elif first == letter:
            found.add(tuple(rest))
    return frozenset(found)


def _is_repeated(product: tuple[str | Expression, ...]) -> bool:
    return all(isinstance(factor, frozenset) for factor in product)


def minimize(automaton: Automaton) -> Automaton:
    """Return the minimal automaton, whose states are numbered in the order in which strings reach them."""
    table, accepting = automaton
    blocks, number = [state in accepting for state in range(len(table))], 0
    while len(set(blocks)) > number:
        number, names = len(set(blocks)), {}
        signs = [(blocks[state], *(blocks[each] for each in after)) for state, after in enumerate(table)]
        blocks = [names.setdefault(sign, len(names)) for sign in signs]
    states, order = [0], {blocks[0]: 0}
    for state in states:  # which grows
        for each in table[state]:
            if blocks[each] not in order:
                order[blocks[each]] = len(order)
                states.append(each)
    found = tuple(tuple(order[blocks[each]] for each in table[state]) for state in states)
    return found, frozenset(order[blocks[state]] for state in states if state in accepting)


def find_components(table: Table) -> set[frozenset[int]]:
    """Return the strongly connected components of the states; a state alone is one."""
    reached = []
    for state in range(len(table)):
        found = [state]
        for each in found:  # which grows
            found.extend(after for after in dict.fromkeys(table[each]) if after not in found)
        reached.append(found)
    return {frozenset(other for other in of if state in reached[other]) for state, of in enumerate(reached)}


def multiply(first: Function, second: Function) -> Function:
    """Return how two strings act, one after the other."""
    return tuple(second[state] for state in first)


def find_monoid(table: Table) -> list[Function]:
    """Return how strings act on the states, each way once: the syntactic monoid, if the automaton is minimal."""
    letters = list(zip(*table, strict=True))
    found = {tuple(range(len(table))): None}
    ways = list(found)
    for way in ways:  # which grows
        for letter in letters:
            after = multiply(way, letter)
            if after not in found:
                found[after] = None
                ways.append(after)
    return ways


def is_star_free(table: Table) -> bool:
    """Return True if the language of a minimal automaton is star-free: its monoid is aperiodic."""
    for way in find_monoid(table):
        power = way
        for _ in table:
            power = multiply(power, way)
        if multiply(power, way) != power:
            return False
    return True


def is_r_trivial(table: Table) -> bool:
    """Return True if the language of a minimal automaton is R-trivial: no string leads back to a state that it left.

    Source: Brzozowski and Fich, 1980, Journal of Computer and System Sciences 20.
    """
    return all(len(component) == 1 for component in find_components(table))


def is_in_r_group(table: Table) -> bool:
    """Return True if the monoid of a minimal automaton is in R o G: no two idempotents of it are R-equivalent."""
    idempotents = [way for way in find_monoid(table) if multiply(way, way) == way]
    return not any(
        multiply(one, other) == other and multiply(other, one) == one for one, other in combinations(idempotents, 2)
    )


def is_in_c_rasp(table: Table) -> bool:
    """Return True if C-RASP has a program for the language of a minimal automaton.

    It has one if counts tell the states of each strongly connected component apart, counts that stay bounded in it
    (lemmas 84, 87 and 88). A count adds E(x) for each transition of label x, and is bounded if the value V of each
    state is the same on all ways to it: V(after) = V(before) + E(x). A label is at first the letter, then the letter
    with all such counts before it.
    """
    return all(_tell_apart(table, sorted(component)) for component in find_components(table))


def _tell_apart(table: Table, states: Sequence[int]) -> bool:
    moves = [(state, letter, after) for state in states for letter, after in enumerate(table[state]) if after in states]
    values: dict[int, Sequence[Fraction]] = dict.fromkeys(states, ())
    while True:
        labels = list(dict.fromkeys((values[state], letter) for state, letter, _ in moves))
        # The unknowns are E of each label, then V of each state but the first, whose V is 0.
        rows = []
        for state, letter, after in moves:
            row = [0] * (len(labels) + len(states))
            row[labels.index((values[state], letter))] += 1
            row[len(labels) + states.index(state)] += 1
            row[len(labels) + states.index(after)] -= 1
            rows.append(row[: len(labels)] + row[len(labels) + 1 :])
        number = len(set(values.values()))
        found = [(), *_solve(rows, len(labels) + len(states) - 1)[len(labels) :]]
        values = dict(zip(states, found, strict=True))
        if len(set(values.values())) == number:
            return number == len(states)


def _solve(rows: Sequence[Sequence[int]], unknowns: int) -> list[tuple[Fraction, ...]]:
    """Return the solutions of equations with right sides 0: each unknown as a sum over the free ones, by its factors.

    Zeros at the end are left out, so that () is 0.
    """
    left, pivots = [[Fraction(value) for value in row] for row in rows], {}
    for unknown in range(unknowns):
        pivot = next((row for row in left if row[unknown]), None)
        if pivot is None:
            continue
        left = [row for row in left if row is not pivot]
        pivot = [value / pivot[unknown] for value in pivot]

        def clear(row: Sequence[Fraction], unknown: int = unknown, pivot: Sequence[Fraction] = pivot):
            return [value - row[unknown] * other for value, other in zip(row, pivot, strict=True)]

        left, pivots = [clear(row) for row in left], {key: clear(row) for key, row in pivots.items()}
        pivots[unknown] = pivot
    found = []
    for unknown in range(unknowns):
        factors = [-value for value in pivots[unknown]] if unknown in pivots else [Fraction(0)] * unknowns
        factors[unknown] = Fraction(unknown not in pivots)
        while factors and not factors[-1]:
            factors.pop()
        found.append(tuple(factors))
    return found


KINDS: Mapping[str, Callable[[Table], bool]] = {
    "r_trivial": is_r_trivial,
    "c_rasp": is_in_c_rasp,
    "r_group": is_in_r_group,
    "other": lambda table: True,
}


def classify(automaton: Automaton) -> str:
    """Return the first of ``KINDS`` that the language of a minimal automaton belongs to."""
    return next(kind for kind, belongs in KINDS.items() if belongs(automaton[0]))


@cache
def random_expression(kind: str, number: int) -> str:
    """Return the random regular expression of a ``number``, 0, 1, ..., among those of a kind of ``KINDS``.

    No two of them are the same language with other letters, and each has two states that strings of it pass.
    """
    drawn, languages = _start_drawing()
    while sum(each == kind for each in languages.values()) <= number:
        languages.update([next(drawn)])
    return [expression for expression, each in languages.items() if each == kind][number]


@cache
def _start_drawing() -> tuple[Iterator[tuple[str, str]], dict[str, str]]:
    """Return the drawing of expressions and their kinds, and those drawn so far."""
    return _draw_languages(Random(0)), {}


def _draw_languages(random: Random) -> Iterator[tuple[str, str]]:
    known = set()
    while True:
        expression = _draw_expression(random, DEPTH)
        table, accepting = compile_expression(expression)[1]
        dead = {state for state, after in enumerate(table) if set(after) == {state}} - accepting
        if "*" not in expression or len(table) - len(dead) < 2:
            continue
        orders = permutations(range(len(table[0])))
        alike = {
            minimize((tuple(tuple(after[each] for each in order) for after in table), accepting)) for order in orders
        }
        if not known & alike:
            yield expression, classify((table, accepting))
        known |= alike


def _draw_expression(random: Random, depth: int) -> str:
    rule = random.choices(list(RULES), list(RULES.values()))[0] if depth else "letter"
    if rule == "letter":
        return random.choices(list(LETTERS), list(LETTERS.values()))[0]
    one = _draw_expression(random, depth - 1)
    if rule == "star":
        return f"({one})*"
    return one + ("|" if rule == "union" else "") + _draw_expression(random, depth - 1)
