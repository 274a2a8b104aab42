"""Which tokens count with which context, by hand and for any size."""

from hypothesis import given
from hypothesis import strategies as st

from synthlab.huggingface.perplexity.windows import (
    DEFINITIONS,
    ScoredWindow,
    Span,
    batches,
    disjoint,
    last,
    sliding,
    strided,
)


def contexts(windows: list[ScoredWindow]) -> list[tuple[int, int]]:
    """Each token that counts, with its context."""
    return [(token, token - start) for start, end, counted in windows for token in range(end - counted, end)]


def test_by_hand():
    span = Span(length=4, longest=6, stride=2)
    assert disjoint(10, span) == [(0, 4, 3), (4, 8, 3)]
    assert strided(9, span) == [(0, 4, 3), (2, 6, 2), (4, 8, 2), (6, 9, 1)]
    assert sliding(8, span) == [(2, 6, 1), (3, 7, 1), (4, 8, 1)]
    assert last(13, span) == [(2, 6, 1), (8, 12, 1)]


@st.composite
def cases(draw) -> tuple[int, Span]:
    length = draw(st.integers(2, 12))
    longest = draw(st.integers(length, 20))
    return draw(st.integers(longest, 60)), Span(length, longest, draw(st.integers(1, length - 1)))


@given(cases())
def test_laws_of_all(case):
    tokens, span = case
    for define in DEFINITIONS.values():
        windows = define(tokens, span)
        counted = [token for token, _ in contexts(windows)]
        assert windows
        assert len(set(counted)) == len(counted)  # none twice
        assert all(0 <= start < end <= tokens and end - start <= span.length for start, end, _ in windows)
        assert all(1 <= context < span.length for _, context in contexts(windows))


@given(cases())
def test_strided_counts_each_token_once(case):
    tokens, span = case
    found = contexts(strided(tokens, span))
    assert [token for token, _ in found] == list(range(1, tokens))
    assert all(context >= span.length - span.stride for token, context in found if token >= span.length)


@given(cases())
def test_full_contexts_have_the_same_tokens(case):
    tokens, span = case
    shorter = span._replace(length=2)
    for define in (sliding, last):
        found = contexts(define(tokens, span))
        assert {context for _, context in found} == {span.length - 1}
        assert [token for token, _ in found] == [token for token, _ in contexts(define(tokens, shorter))]
    assert [token for token, _ in contexts(sliding(tokens, span))] == list(range(span.longest - 1, tokens))


@given(cases(), st.integers(1, 50))
def test_batches_are_of_one_shape_and_no_larger_than_asked(case, size):
    windows = strided(*case)
    parts = batches(windows, size)
    assert sorted(window for part in parts for window in part) == sorted(windows)
    for part in parts:
        assert len({(window.read, window.counted) for window in part}) == 1
        assert len(part) == 1 or sum(window.read for window in part) <= size
