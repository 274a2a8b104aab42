"""The picture of the documentation shows the windows that are used."""

import runpy
from pathlib import Path

from synthlab.huggingface.perplexity.windows import DEFINITIONS

PICTURE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "evaluate_windows.py"))
TOKENS, SPAN = PICTURE["TOKENS"], PICTURE["SPAN"]


def test_each_box_is_a_token_of_a_window_and_numbers_are_contexts():
    for axes, define in zip(PICTURE["draw"]().axes, DEFINITIONS.values(), strict=True):
        windows = define(TOKENS, SPAN)
        assert len(axes.patches) == sum(window.end - window.start for window in windows)
        contexts = [end - counted - start + i for start, end, counted in windows for i in range(counted)]
        assert [int(text.get_text()) for text in axes.texts] == contexts
