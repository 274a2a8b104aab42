"""The picture that is each paper's message."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from experiments.messages import MOST_BYTES, NAME, draw_message
from experiments.papers import papers
from experiments.reference import REFERENCE, pages

COMMITTED = [name for name in papers() if (REFERENCE / name).exists()]


def pixels(picture: bytes) -> np.ndarray:
    with Image.open(BytesIO(picture)) as image:
        return np.asarray(image.convert("L"), float)


@pytest.mark.parametrize(
    "name", [name if name == "crasp" else pytest.param(name, marks=pytest.mark.slow) for name in COMMITTED]
)
def test_a_committed_picture_is_what_the_committed_tables_draw(name, tmp_path):
    paper, committed = papers()[name](), (REFERENCE / name / NAME).read_bytes()
    drawn, there = pixels(draw_message(paper, REFERENCE / name) or b""), pixels(committed)
    assert drawn.shape == there.shape
    assert (np.abs(drawn - there) > 32).mean() < 1e-3  # another machine may round a line to the next pixel
    assert len(committed) < MOST_BYTES
    assert draw_message(paper, tmp_path) is None
    assert any(f"](reference/{name}/{NAME})" in page.read_text() for page in pages())
