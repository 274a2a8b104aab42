"""One name, one colour, one line and one marker for each encoding and each map."""

from itertools import combinations, product

import numpy as np
import pytest

from synthlab.analysis.looks import LOOKS, STYLES, ramp, style_of
from synthlab.analysis.names import NAMES, name_series
from synthlab.models.encodings import ENCODINGS
from synthlab.regression.outrep import OUTREPS

registries = pytest.mark.parametrize("registry", [ENCODINGS, OUTREPS], ids=["encodings", "maps"])
WITH_MAPS = ("nope", "alibi", "rope", "learned", "sinusoidal", "t5", "randomized")  # of tasks with a number as answer


def oklab(colour: str) -> np.ndarray:
    """Coordinates in which distances are those that eyes see, by Ottosson (2020)."""
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    axes = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.array(axes) @ np.cbrt(np.array(cones) @ linear)


def distance(one: str, other: str) -> float:
    return float(np.linalg.norm(oklab(LOOKS[one][0]) - oklab(LOOKS[other][0])))


@registries
def test_every_member_has_a_look_of_its_own(registry):
    assert set(registry) <= set(NAMES)
    assert set(registry) <= set(LOOKS)
    styles = [STYLES[name] for name in registry]
    for part in ("label", "colour", "marker"):
        assert len({getattr(style, part) for style in styles}) == len(styles)


def test_colours_of_encodings_and_maps_do_not_clash():
    assert len({colour for colour, *_ in LOOKS.values()}) == len(LOOKS)
    assert min(distance(*pair) for pair in product(WITH_MAPS, OUTREPS)) > 0.1
    assert min(distance(*pair) for pair in combinations(WITH_MAPS, 2)) > 0.1


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


def test_numbers_are_on_a_ramp_from_dark_to_light():
    styles = style_of(["length=50", "length=5", "nope", "length=20"])
    assert [styles[f"length={length}"].colour for length in (5, 20, 50)] == ramp(3)
    for turn in range(2):
        lightness = [oklab(colour)[0] for colour in ramp(6, turn)]
        assert lightness == sorted(lightness)
    both = style_of(["length=5", "length=50", "step=10", "step=20"]).values()
    assert len({style[1:] for style in both}) == 4
