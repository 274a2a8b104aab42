"""``make screenshots``: the picture of the page in docs/classroom.md, from a page driven by Chromium."""

import time
from pathlib import Path

from support.browser import Visitor, open_chromium
from support.server import served

DOCS = Path(__file__).parents[2] / "docs"


def main() -> None:
    with served() as (_, address), open_chromium() as browser:
        window = Visitor(browser, address)
        window.button("Mean works").click()
        window.idle(1)
        window.button("1/x mends most").click()
        window.idle(3)
        time.sleep(1)  # what was drawn last
        window.page.screenshot(path=DOCS / "classroom.png")


if __name__ == "__main__":
    main()
