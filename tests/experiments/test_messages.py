"""The picture that is each paper's message."""

import pytest

from experiments.messages import NAME, draw_message
from experiments.papers import papers
from experiments.reference import REFERENCE

MOST_BYTES = 150_000


@pytest.mark.parametrize("name", papers())
def test_a_committed_picture_is_what_the_committed_tables_draw(name, tmp_path):
    paper, committed = papers()[name](), (REFERENCE / name / NAME).read_bytes()
    assert draw_message(paper, REFERENCE / name) == committed
    assert len(committed) < MOST_BYTES
    assert draw_message(paper, tmp_path) is None
    page = (REFERENCE.parent / "findings.md").read_text()
    assert page.index(f"](reference/{name}/{NAME})") < page.index(f"<!-- findings_{name} -->")
