"""Automata: minimal ones and their classes, by hand, against the published list, and against the monoid."""

import re
from itertools import product

import pytest

from synthlab.errors import InputError
from synthlab.sequences.automata import (
    KINDS,
    classify,
    compile_expression,
    find_monoid,
    is_in_c_rasp,
    is_in_r_group,
    is_r_trivial,
    is_star_free,
    minimize,
    multiply,
    random_expression,
)

# The 125 languages of Yang et al., 2026, arXiv 2608.13433, table 1, by the classes that it says they are in.
PUBLISHED = {
    "R_TRIVIAL": """
        acabcc(c)* bba(c|a)* cb(a)*baa (b)*baa cb(a)*|abbc aa(a)*c (a)*(a)*b|aac bc(b)*abbb (b)*cbbcaa ((b)*b)*
        bcac(a)*|ba (a)*b|acab b|ca|b(c|a)* (c)*b|b(b)* bcba|(a)*aa a|c(a)*cb|a ccc(b)* aa(c)*|acca (a)*caaa|c
        caaba|(a)* (b)*b|aa|bba cbac(a)* (b)*cc(b)*ca aca(a)* (a)*a(b|b)* (a+b+)(a+b+)(a+b+) b(a|b)* c*a(a|b)*
        (b|d|e|x)*a(a|c|e|x)*b(a|b|c|d|x)* (a|b)*a(a|b)* (a|b)*ab(a|b)* (a|b)*a(a|b)*b(a|b)*
    """,
    "C_RASP": """
        (bbac)* (ac)*c|ba|a ((b)*)*(ab)* (ca)*(cb)* ((a)*)*(ac)* ccc(ba)* (ba)*(b)*bc (b)*cc(ca)* (ac)*ba(b)*
        (ca)*(a)*bb (abbc)* c|cab|(bc)* a(bc)* (ca)*(ab)* bab(ba)* ((ac)*)* bbbc(ca)* (abcb)* (ba)*cb|aa (baaa)*
        (cb)*caa|b (acba)* baca(bc)* b|c|ac(ac)* (ab|bbaa)* (ab)+a+ (ab)+a+b+ (ab)+a+b+a+ ((ab)+b+)((ab)+b+)((ab)+b+)
        (ab|ba)* (ab)+b(ab)+ (ab)* (a(ab)*b)*
    """,
    "R_OMEGA": """
        (ab|bba)*
    """,
    "R_GROUP": """
        (ab)*|(bb)* (bb)*(bb)* b|(bb)* bbcc(aa)* (cc)* (bb)*cbac (aa|(b)*)* aa|ca(aa)* (aa|aa)* (bb)*ab|ac (cc)*cccb
        (cc)*ccb|b bccb(aa)* aba|c(bb)* (b)*(b)*(aa)* (aa)*bb(a)* ((a)*)*(cc)* cc|cc(bb)* (cc)*bac (bb)*(c)*ac
        (a)*(a)*(bb)* bcbb(bb)* (ca)*(cc)* (aa)* a*(ba*ba*)*
    """,
    "OTHER": """
        (bab|b)* (c|b(a)*)* ((b)*ac)* (bc(c)*)* (baa|a)* (ab(a)*)* (b|a)*aaac ((a)*ac)* ((b)*ab)* (ac(a)*)* (cca|a)*
        (a|c)*cbbb (cab|c)* (a|ac|a)* ((a)*ca)* (cbb|b)* (a|c)*(cb)* (ca(c)*)* (ba|a|c)* ((b)*a|c)* (cb(c)*)* (baa|b)*
        ((b)*bc)* (a|aac)* ((a)*bb)* (b|ac|c)* (b|bc)* ((a)*ab)* (ab|aabb)* (a+b+)+ ((ab)+b+)+ (a|b|e)*be* (a|b)*b
        (a|c)*ab*
    """,
}
CLASSES = {  # whether R-trivial, in C-RASP, star-free, in R o G
    "R_TRIVIAL": (True, True, True, True),
    "C_RASP": (False, True, True, True),
    "R_OMEGA": (False, False, True, True),
    "R_GROUP": (False, False, False, True),
    "OTHER": (False, False, None, False),
}


def classes_of(expression: str) -> tuple[bool, bool, bool, bool]:
    _, (table, _) = compile_expression(expression)
    return is_r_trivial(table), is_in_c_rasp(table), is_star_free(table), is_in_r_group(table)


@pytest.mark.parametrize("name", PUBLISHED)
def test_classes_are_the_published_ones(name):
    expected = CLASSES[name]
    for expression in PUBLISHED[name].split():
        found = classes_of(expression)
        assert [(one, other) for one, other in zip(found, expected, strict=True) if other not in (one, None)] == []
    assert sum(len(each.split()) for each in PUBLISHED.values()) == 125


@pytest.mark.parametrize(
    ("expression", "letters", "table", "accepting"),
    [
        ("a*", "a", ((0,),), {0}),
        ("(a|b)*b", "ab", ((0, 1), (0, 1)), {1}),
        ("ab|b", "ab", ((1, 2), (3, 2), (3, 3), (3, 3)), {2}),
        ("(aa)+", "a", ((1,), (2,), (1,)), {2}),
        ("((a|a)(b*)*)*", "ab", ((1, 2), (1, 1), (2, 2)), {0, 1}),
    ],
)
def test_minimal_automata_by_hand(expression, letters, table, accepting):
    assert compile_expression(expression) == (letters, (table, frozenset(accepting)))


def test_states_that_no_string_tells_apart_are_one():
    # 1 and 2 accept the same strings; no string reaches 3.
    assert minimize((((1, 2), (1, 2), (2, 1), (0, 0)), frozenset({1, 2}))) == (((1, 1), (1, 1)), frozenset({1}))


@pytest.mark.parametrize("expression", ["(ab|bba)*", "c*b|b(b)*", "((a)*bb)*(c|ab)+", "(b|a)*aaac", "a(b(a|c)+)*b"])
def test_automata_accept_the_strings_of_the_expression(expression):
    letters, (table, accepting) = compile_expression(expression)
    for size in range(7):
        for text in product(letters, repeat=size):
            state = 0
            for letter in text:
                state = table[state][letters.index(letter)]
            assert (state in accepting) == bool(re.fullmatch(expression, "".join(text)))


@pytest.mark.parametrize(
    ("expression", "classes"),
    [
        # The counts of a less those of b are 0 or 1, which tells the two states apart.
        ("(ab)*", (False, True, True, True)),
        # Bounded nesting to depth 3: the same count is the depth.
        ("(a(a(ab)*b)*b)*", (False, True, True, True)),
        # Every way back has two letters a: no count of a is bounded.
        ("(aa)*", (False, False, False, True)),
        # The last letter: a and b each lead from a state to itself, so that both count 0.
        ("(a|b)*b", (False, False, True, False)),
        # ab and bba both lead back, so a + b = 0 and a + 2 b = 0: no count.
        ("(ab|bba)*", (False, False, True, True)),
        # a + b = 0 gives depths -2 to 1 with two states at depth -1 (after b, and after bba), which a count of letters
        # at depths tells apart. With aabb in place of bbaa none does: depth 1 is after a, and after aab.
        ("(ab|bbaa)*", (False, True, True, True)),
        ("(ab|aabb)*", (False, False, True, False)),
        ("a*b*c*", (True, True, True, True)),
    ],
)
def test_classes_by_hand(expression, classes):
    assert classes_of(expression) == classes


def test_the_monoid_by_hand():
    # Of (ab)*: 1, a, b, ab, ba and 0.
    (table, _) = compile_expression("(ab)*")[1]
    identity, zero, a, b, ab, ba = (0, 1, 2), (2, 2, 2), (1, 2, 2), (2, 0, 2), (0, 2, 2), (2, 1, 2)
    assert set(find_monoid(table)) == {identity, zero, a, b, ab, ba}
    assert (multiply(a, b), multiply(b, a)) == (ab, ba)


@pytest.mark.parametrize("kind", KINDS)
def test_random_languages_are_of_their_kind_and_keep_the_inclusions(kind):
    expressions = [random_expression(kind, number) for number in range(20)]
    assert len(set(expressions)) == 20
    for expression in expressions:
        table, accepting = compile_expression(expression)[1]
        assert classify((table, accepting)) == kind
        trivial, counted, star_free, group = classes_of(expression)
        assert trivial <= counted <= (star_free and group)
        # R-trivial, read off the monoid: no two of its elements lead to one another.
        ways = find_monoid(table)
        ideals = {way: {multiply(way, after) for after in ways} for way in ways}
        assert trivial == (len(set(map(frozenset, ideals.values()))) == len(ways))


@pytest.mark.parametrize("expression", ["", "(a", "a)", "*a", "a||*", "a-b", "()"])
def test_an_expression_that_is_none_is_refused(expression):
    with pytest.raises(InputError, match="^task.expression="):
        compile_expression(expression)
