"""One name, one colour, one line and one marker for each encoding and each map."""

import pytest

from synthlab.analysis.looks import LOOKS, STYLES
from synthlab.analysis.names import NAMES, name_series
from synthlab.models.encodings import ENCODINGS
from synthlab.regression.outrep import OUTREPS


@pytest.mark.parametrize("registry", [ENCODINGS, OUTREPS], ids=["encodings", "maps"])
def test_every_member_has_a_look_of_its_own(registry):
    assert set(registry) <= set(NAMES)
    assert set(registry) <= set(LOOKS)
    styles = [STYLES[name] for name in registry]
    for part in ("label", "colour", "marker"):
        assert len({getattr(style, part) for style in styles}) == len(styles)


@pytest.mark.parametrize(
    ("series", "name"),
    [
        ("t5, 32 buckets", "T5 (32 buckets)"),
        ("pi, fine-tuned 50 steps", "PI, 50 steps"),
        ("randomized rope", "randomized RoPE"),
        ("aa_star", "(aa)*"),
        ("encoding=rope model.depth=2", "RoPE, layers = 2"),
        ("my own, whatever", "my own, whatever"),
    ],
)
def test_a_series_has_a_readers_name(series, name):
    assert name_series(series) == name
