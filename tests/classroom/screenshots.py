"""``make screenshots``: the two pictures of the page in docs/classroom.md, from a page driven by Chromium."""

import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from support.browser import CHROMIUM, SIZES, Visitor
from support.server import served

DOCS = Path(__file__).parents[2] / "docs"


def main() -> None:
    with served() as (_, address), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        window = Visitor(browser, address, SIZES["laptop"])
        window.button("Mean works").click()
        window.idle(1)
        window.button("1/x mends most").click()
        window.idle(3)
        time.sleep(1)  # what was drawn last
        window.page.screenshot(path=DOCS / "classroom.png")
        window.button("Which encoding?").click()
        window.idle(6)
        window.page.evaluate("document.getElementById('try').scrollIntoView()")
        window.page.get_by_label("length: ").or_(window.page.locator(".noUi-handle")).last.focus()
        for _ in range(6):
            window.page.keyboard.press("ArrowRight")
        time.sleep(2)
        window.page.screenshot(path=DOCS / "classroom_inside.png")
        browser.close()


if __name__ == "__main__":
    main()
