"""The site in Chromium, opened from the folder that ``make docs`` wrote, without a server or a network."""

import pytest

from experiments.reference import ROOT
from support.browser import open_chromium

pytestmark = pytest.mark.browser
SITE = ROOT / "site"
WIDTHS = (390, 1024, 1280, 1366, 1440, 1920)
# By how many pixels a page and its column of text are wider than they show.
HIDDEN = """() => [document.documentElement, document.querySelector(".content")]
    .map((box) => box ? box.scrollWidth - box.clientWidth : 0)"""


@pytest.fixture(scope="module")
def page():
    if not (SITE / "index.html").exists():
        pytest.skip("needs the site: make docs")
    with open_chromium() as browser:
        context = browser.new_context(offline=True)
        yield context.new_page()


def test_no_page_scrolls_sideways(page):
    paths = sorted(SITE.rglob("*.html"))
    assert len(paths) > 30
    wide = []
    for path in paths:
        page.goto(path.as_uri())
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            hidden = page.evaluate(HIDDEN)
            wide += [f"{path.relative_to(SITE)} at {width}: {hidden}"] if max(hidden) > 0 else []
    assert wide == []


def test_search_finds_a_page_without_a_server(page):
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{(SITE / 'search.html').as_uri()}?q=classroom")
    found = page.locator("#search-results li a")
    found.first.wait_for()
    assert "classroom.html" in " ".join(link.get_attribute("href") for link in found.all())
    assert said == []
