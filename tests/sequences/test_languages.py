"""Formal languages: their strings and next-symbol sets, against what defines each language, and by hand."""

import re
from itertools import pairwise, product

import pytest
import torch

from support.frequencies import assert_uniform
from synthlab.sequences.automata import random_expression
from synthlab.sequences.tasks import TASKS


def odd_after_odd(text: str) -> bool:
    runs = [(bit, len(list(group))) for bit, group in ((m[0][0], m[0]) for m in re.finditer("0+|1+", text))]
    return any(a[0] == "1" and a[1] % 2 and b[1] % 2 for a, b in pairwise(runs))


def shuffled(text: str) -> bool:
    """Whether the brackets of each kind, without the others, are well nested: taken away pair by pair, none is left."""
    for pair in ("()", "[]", "{}"):
        rest = "".join(letter for letter in text if letter in pair)
        while pair in rest:
            rest = rest.replace(pair, "")
        if rest:
            return False
    return True


TOMITA = {
    1: lambda text: "0" not in text,
    2: lambda text: bool(re.fullmatch("(10)*", text)),
    3: lambda text: not odd_after_odd(text),
    4: lambda text: "000" not in text,
    5: lambda text: text.count("0") % 2 == text.count("1") % 2 == 0,
    6: lambda text: (text.count("0") - text.count("1")) % 3 == 0,
    7: lambda text: bool(re.fullmatch("0*1*0*1*", text)),
}
# What a language is called, and the strings that it has.
PATTERNS = {
    "aaaa_star": "(aaaa)*",
    "abab_star": "(abab)*",
    "aa_star_bb_star_cc_star_dd_star_ee_star": "a+b+c+d+e+",
    "ab_star_d_bc_star": "[ab]*d[bc]*",
    "012_star_0_2_star": "[012]*02*",
}
NESTED = {1: "(ab)*", 2: "(a(ab)*b)*", 3: "(a(a(ab)*b)*b)*"}
REGULAR = [
    *(({"name": "pattern", "language": name}, pattern) for name, pattern in PATTERNS.items()),
    *(({"name": "bounded_dyck", "depth": depth}, pattern) for depth, pattern in NESTED.items()),
    ({"name": "aa_star"}, "(aa)*"),
]
CASES = [(member, lambda text, pattern=pattern: bool(re.fullmatch(pattern, text))) for member, pattern in REGULAR]
CASES += [({"name": "tomita", "number": number}, inside) for number, inside in TOMITA.items()]
CASES += [({"name": "dyck", "kinds": kinds}, shuffled) for kinds in (1, 2)]
CASES += [
    ({"name": "anbn", "letters": 2}, lambda text: text in ("ab", "aabb", "aaabbb")),
    ({"name": "anbn", "letters": 3}, lambda text: text in ("abc", "aabbcc")),
]


@pytest.mark.parametrize(("member", "inside"), CASES)
def test_strings_and_sets_by_enumeration(member, inside):
    language, longest = TASKS.build(member), 5
    letters = language.symbols
    ahead = ["".join(rest) for k in range(5) for rest in product(letters, repeat=k)]
    for length in range(1, longest + 1):
        strings = {text for each in product(letters, repeat=length) if inside(text := "".join(each))}
        assert language.has(length) == bool(strings)
        if not strings:
            continue
        number = max(600, 20 * len(strings))  # so that one that is never drawn is a fault: e^-20
        lengths = torch.full((number,), length)
        batch = language.batch(lengths, language.width(length), torch.Generator().manual_seed(0))
        texts = texts_of(language, batch)
        assert set(texts) == strings
        assert_uniform(texts, strings)
        for text, place in product(strings, range(length + 1)):
            targets = batch.targets[texts.index(text), place]
            said = {language.written(token) for token in targets.nonzero()[:, 0].tolist()}
            before = text[:place]
            may = {letter for letter in letters if any(inside(before + letter + rest) for rest in ahead)}
            assert said == may | ({"<end>"} if inside(before) else set())


@pytest.mark.parametrize(("member", "inside"), CASES)
def test_chance_is_that_of_a_constant_set(member, inside):
    language = TASKS.build(member)
    for length in language.lengths(1, 5):
        batch = language.batch(torch.full((2000,), length), language.width(length), torch.Generator().manual_seed(0))
        constant = (batch.targets == batch.targets[:, :1]).all(-1).all(-1).double().mean().item()
        assert abs(constant - language.chance(length)) < 0.06


def texts_of(language, batch) -> list[str]:
    rows = zip(batch.tokens.tolist(), batch.sizes.tolist(), strict=True)
    return ["".join(map(language.written, row[1:size])) for row, size in rows]


def test_long_brackets_and_mixed_lengths_are_nested():
    for kinds in (1, 2, 3):
        language = TASKS.build({"name": "dyck", "kinds": kinds})
        lengths = torch.tensor(language.lengths(1, 120))
        batch = language.batch(lengths, 121, torch.Generator().manual_seed(0))
        texts = texts_of(language, batch)
        assert list(map(len, texts)) == lengths.tolist()
        assert all(map(shuffled, texts))


@pytest.mark.parametrize("expression", ["(ab|bba)*", "a(b|c)*", "(ab(c)*)*"])
def test_states_are_told_apart_by_what_may_follow(expression):
    """Two prefixes lead to one state exactly if the same strings complete them: Nerode's relation."""
    task = TASKS.build({"name": "state_tracking", "expression": expression})
    letters = "".join(symbol for symbol in task.symbols if len(symbol) == 1)
    ahead = ["".join(rest) for size in range(6) for rest in product(letters, repeat=size)]
    states = {}
    for length in task.lengths(1, 5):
        strings = {text for each in product(letters, repeat=length) if re.fullmatch(expression, text := "".join(each))}
        batch = task.batch(torch.full((400,), length), task.width(5), torch.Generator().manual_seed(0))
        rows = zip(*(part.tolist() for part in batch[:3]), batch.scored.tolist(), strict=True)
        drawn = set()
        for tokens, size, targets, scored in rows:
            said = [task.written(token) for token in tokens[:size]]
            assert said[:2] == ["<begin>", "<separator>"]
            assert set(said[1::2]) == {"<separator>"}
            assert scored == [place % 2 == 1 and place < size for place in range(len(scored))]
            text = "".join(said[2::2])
            if text in drawn:
                continue
            drawn.add(text)
            for place in range(length + 1):
                may = frozenset(rest for rest in ahead if re.fullmatch(expression, text[:place] + rest))
                states.setdefault(may, set()).add(task.written(targets[2 * place + 1]))
        assert drawn == strings
    assert all(len(names) == 1 for names in states.values())
    assert len(set.union(*states.values())) == len(states)
    assert states[frozenset(rest for rest in ahead if re.fullmatch(expression, rest))] == {"q0"}


def test_chance_of_states_is_that_of_the_first():
    task = TASKS.build({"name": "state_tracking", "expression": "(a|b)*b|a*"})
    # Of 8 strings of three letters 5 are in the language; none but aaa stays in the state of no letter: that of a*.
    assert [task.chance(length) for length in (1, 3)] == [1 / 2, 1 / 5]


def test_a_random_language_is_that_of_its_expression():
    drawn = TASKS.build({"name": "random_language", "kind": "r_group", "number": 3})
    same = TASKS.build({"name": "state_tracking", "expression": random_expression("r_group", 3)})
    assert (drawn.automaton, drawn.symbols) == (same.automaton, same.symbols)
