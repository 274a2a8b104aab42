from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.configs import small
from support.facts import enumerated
from support.frequencies import assert_drawn_from, assert_uniform
from synthlab.language.evaluation import evaluate_models
from synthlab.language.languages.recall import Tracking
from synthlab.language.training import build_models
from synthlab.rng import stream

TINY = {"keys": 5, "values": 2, "fillers": 1, "facts": 0.2, "questions": 0.3, "links": 0.3}
KINDS = ("recall", "needle", "tracking")


def read(text: list[int], of: Tracking) -> list[tuple[str, int, int]]:
    """Token by token what a text says: a fact (key, value), a link (key, key), a question (key, none), an answer (its
    key, or none where the question is not there; value), or a filler."""
    said = []
    for before, token in pairwise([-1, *text]):
        if token < of.first_question:
            said.append(("fact", token // of.values, token % of.values))
        elif token < of.first_answer:
            said.append(("question", token - of.first_question, -1))
        elif token < of.first_filler:
            asked = said[-1][1] if of.first_question <= before < of.first_answer else -1
            said.append(("answer", asked, token - of.first_answer))
        elif token < of.first_link:
            said.append(("filler", -1, -1))
        else:
            said.append(("link", *divmod(token - of.first_link, of.keys)))
    return said


def told(said: list[tuple[str, int, int]]) -> dict[int, set[int]]:
    """The values that a text tells of each key, by facts, answers and any number of links."""
    found = {}
    for what, key, value in said:
        if what in ("fact", "answer") and key >= 0:
            found.setdefault(key, set()).add(value)
    links = [(a, b) for what, a, b in said if what == "link"]
    for _ in links:
        for a, b in links:
            known = found.get(a, set()) | found.get(b, set())
            found |= {a: known, b: known} if known else {}
    return found


def mentions(said: list[tuple[str, int, int]], key: int) -> list[tuple[int, str]]:
    """The places where a text says anything of a key, and how."""
    return [(place, what) for place, (what, a, b) in enumerate(said) if a == key or (what == "link" and b == key)]


@pytest.mark.parametrize("changes", [{}, {"facts": 0.0}, {"links": 0.5}])
def test_windows_have_their_probabilities(changes):
    sizes = TINY | changes
    drawn = Tracking(**sizes).draw(30_000, 2, stream(0, "training"))
    assert_drawn_from(map(tuple, drawn.tolist()), enumerated(sizes, 2))


@settings(max_examples=20)
@given(
    values=st.integers(2, 5), more=st.integers(3, 6), shares=st.tuples(*[st.floats(0, 1)] * 3), seed=st.integers(0, 99)
)
def test_texts_never_contradict_themselves(values, more, shares, seed):
    facts, questions, links = (share / max(1, sum(shares)) * 0.999 for share in shares)
    language = Tracking(values + more, values, 3, facts, questions, links)
    for text in language.draw(4, 60, stream(seed, "training")).tolist():
        said = read(text, language)
        assert all(len(values) == 1 for values in told(said).values())
        assert all(a != b for what, a, b in said if what == "link")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    "sizes", [TINY, {"keys": 9, "values": 6, "fillers": 2, "facts": 0.1, "questions": 0.8, "links": 0.1}]
)
def test_each_kind_of_question_has_its_answer(kind, depth, sizes):
    language, length = Tracking(**sizes), 20
    place = round(depth * (length - language.kinds[kind]))
    tokens, answers = language.questions(200, length, depth, stream(1, "questions"), kind)
    for text, answer in zip(tokens.tolist(), (answers - language.first_answer).tolist(), strict=True):
        said = read(text, language)
        asked = said[-1][1]
        values = told(said)
        assert values[asked] == {answer}
        assert all(len(of_one) == 1 for of_one in values.values())
        assert said[-1][0] == "question"
        assert said[place][::2] == ("fact", answer)
        if kind != "tracking":
            assert mentions(said, asked) == [(place, "fact"), (length - 1, "question")]
        if kind == "needle":
            assert {what for what, _, _ in said[:place] + said[place + 1 : -1]} == {"filler"}
        if kind == "tracking":
            (linked, _), _ = mentions(said, asked)
            assert place < linked < length - 1
            assert said[linked] == ("link", asked, said[place][1])
            assert mentions(said, said[place][1]) == [(place, "fact"), (linked, "link")]


def test_questions_are_uniform():
    language, count, length = Tracking(**TINY), 6000, 12
    tokens, answers = language.questions(count, length, 0.5, stream(0, "questions"), "tracking")
    said = [read(text, language) for text in tokens.tolist()]
    place = round(0.5 * (length - 3))
    links = [mentions(one, one[-1][1])[0][0] for one in said]
    asked, known = [one[-1][1] for one in said], [one[place][1] for one in said]
    assert_uniform(asked, range(5))
    assert_uniform(known, range(5))
    assert_uniform((answers - language.first_answer).tolist(), range(2))
    assert_uniform(links, range(place + 1, length - 1))


def test_each_kind_is_measured_at_every_depth_and_length():
    config = small("task=tracking", "evaluation.lengths=[0.1,2.5]", "evaluation.depths=[0,1]")
    _, outputs = evaluate_models(build_models([config]), [0], [config])[0]
    names = {"accuracy": 2, "answer_loss": 2, "needle": 2, "needle_loss": 2, "tracking": 3, "tracking_loss": 3}
    asked = {f"{name}@{length}@{depth}" for name, least in names.items() for length in (least, 20) for depth in (0, 1)}
    assert {column for column in outputs if "@" in column} == asked
