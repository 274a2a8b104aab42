"""The page in a real browser: headless Chromium, driven as a class would."""

import subprocess
from collections.abc import Callable, Iterator

import pytest

from support.browser import Visitor, open_chromium
from support.server import served

pytestmark = pytest.mark.browser
LESSONS = {
    "Mean works": 1,
    "Length fails": 1,
    "1/x mends most": 2,
    "Which encoding?": 4,
    "The sum": 2,
    "Train longer": 4,
    "In theory": 1,
}


@pytest.fixture(scope="module")
def browser():
    with open_chromium() as found:
        yield found


@pytest.fixture(scope="module")
def server(browser) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The page as a user serves it, and its address; in the end nothing was printed but that, and it closes."""
    with served() as (process, address):
        yield process, address
        assert process.poll() is None
    assert (process.returncode, process.err) == (0, "")


@pytest.fixture
def visit(browser, server) -> Iterator[Callable[[], Visitor]]:
    visitors: list[Visitor] = []

    def visit() -> Visitor:
        visitors.append(Visitor(browser, server[1]))
        return visitors[-1]

    yield visit
    for visitor in visitors:
        visitor.context.close()
    assert [trouble for visitor in visitors for trouble in visitor.troubles()] == []


def test_every_lesson_draws_and_says_what_was_seen(visit):
    window = visit()
    for name, runs in LESSONS.items():
        window.button("Clear").click()
        window.until(lambda: window.curves() == [], "no curves")
        window.button(name).click()
        window.until(lambda: any(window.curves()), f"a curve of {name}")
        before, told = window.curves()[0], window.text("story")
        window.until(lambda before=before: window.curves()[0] != before, f"a curve of {name} that moves")
        window.idle(runs + (name == "In theory"))
        assert all(len(curve) == 50 for curve in window.curves())
        assert len(window.curves()) == runs + (name == "In theory")
        assert window.text("story") != told
        assert window.text("message") == ""


def test_two_windows_do_not_meet(visit):
    first, second = visit(), visit()
    first.button("Length fails").click()
    second.button("Mean works").click()
    for window in (first, second):
        window.idle(1)
    assert "length, NoPE" in first.text("listed")
    assert "mean, NoPE" in second.text("listed")
    assert "mean" not in first.text("listed")
    assert first.curves()[0][-1] > 100 > 0.01 > second.curves()[0][-1]
