"""The table of other draws of test texts, and what docs/alignment_results.md says of it."""

from pathlib import Path

import pandas as pd
import pytest

from experiments.committed_verdicts import TABLES, read_tables

DOCS = Path(__file__).parents[2] / "docs"
DRAWS = read_tables(DOCS / "reference" / "long_short_alignment" / TABLES)["other_draws"]
SHARED = 2025  # the draw of the studies
ARMS = {"alpha 0.01": "alpha 0.01", "alpha 0.1, excess": "symmetric KL, alpha 0.1"}


def changes(arm: str, quantity: str, shared: bool) -> pd.DataFrame:
    """Of each extension the change from alpha 0, mean over draws: median, least and greatest over seeds."""
    rows = DRAWS[(DRAWS["draw"] == SHARED) == shared].set_index(["extension", "seed", "draw", "arm"])[quantity]
    change = (rows.xs(arm, level="arm") - rows.xs("alpha 0", level="arm")).groupby(["extension", "seed"]).mean()
    return change.groupby("extension").agg(["median", "min", "max"])


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("extension", ["pi", "eabf", "yarn"])
def test_the_page_has_the_changes_on_the_shared_draw_and_on_the_others(arm, extension):
    [line] = [
        line
        for line in (DOCS / "alignment_results.md").read_text().splitlines()
        if line.lower().startswith(f"| {ARMS[arm].lower()}, {extension} |")
    ]
    for shared, told in zip((True, False), line.split("|")[2:4], strict=True):
        numbers = changes(arm, "loss_4x", shared).loc[extension]
        middle, low, high = (f"{number:+.4f}" for number in numbers)
        assert told.strip(" *") == f"{middle} [{low}, {high}]"
