"""Numbers in sentences of the pages."""

import re

from experiments.reference import ROOT


def says(page: str, *numbers: str) -> None:
    """Somewhere on the page these numbers stand near one another, in this order, whatever the words between them."""
    text = " ".join((ROOT / page).read_text().split())
    near = ".{1,160}?".join(rf"(?<![\w.]){re.escape(each)}(?!\w)" for each in numbers)
    assert re.search(near, text), f"{page}: {numbers}"
