"""One name, one colour, one line and one marker for each encoding and each map."""

import sys
from collections import Counter
from types import ModuleType

import pytest

import synthlab
from synthlab.analysis.series import find_style, name_series, style_of, style_series
from synthlab.models.encodings import ENCODINGS
from synthlab.numbers.outrep import OUTREPS
from synthlab.styles import OTHERS, RED, Style


@pytest.mark.parametrize("registry", [ENCODINGS, OUTREPS], ids=["encodings", "maps"])
def test_every_member_has_a_style_of_its_own(registry):
    styles = [vars(member)["style"] for member in registry.values()]
    for part in ("label", "colour", "marker"):
        counts = Counter(getattr(style, part) for style in styles)
        assert [value for value, count in counts.items() if count > 1] == []


def test_a_users_class_may_carry_a_style(monkeypatch):
    class Mine(synthlab.Encoding):
        style = Style("my own", RED, "-", "o")

    module = ModuleType("mine")
    module.__dict__.update(Mine=Mine, Plain=type("Plain", (Mine,), {}))
    monkeypatch.setitem(sys.modules, "mine", module)
    assert style_series({"mine:Mine": {"encoding": "mine:Mine"}}) == {"mine:Mine": Mine.style}
    assert name_series({"encoding": "mine:Plain"}) == "mine:Plain"  # a style is not inherited
    assert find_style("elsewhere:Mine") is None  # nothing is imported
    assert "elsewhere" not in sys.modules


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"encoding": "pi", "finetune.steps": 50.0}, "PI, 50 steps"),
        ({"task": "aa_star"}, "aa_star"),
        ({"encoding": "rope", "model.depth": 2, "positions": None}, "RoPE, layers = 2"),
        ({"arm": {"name": "PI, CREAM", "extension": "pi"}, "task": "sum"}, "PI, CREAM, task = sum"),
    ],
)
def test_a_series_has_a_readers_name(settings, name):
    assert name_series(settings) == name


def test_styles_follow_from_settings():
    members = {
        f"{encoding} {k}": {"encoding": encoding, "train_length": k} for encoding in ("rope", "nope") for k in (5, 10)
    }
    arms = {"CREAM": {"arm": {"name": "CREAM", "extension": "pi", "positions": "cream"}}}
    numbers = {f"length={k}": {"length": k} for k in (50, 20)}
    others = {"mean": {"task": "mean"}, "sum": {"task": "sum"}}
    styles = style_series(members | arms | numbers | others)
    assert styles["rope 5"] == style_of("rope")._replace(label=r"RoPE, $l_\mathrm{train}$ = 5")
    assert styles["rope 10"][1:] == style_of("rope").vary(1)[1:]
    assert styles["nope 10"][1:] == style_of("nope").vary(1)[1:]
    assert styles["CREAM"] == style_of("pi")._replace(label="CREAM")
    assert styles["length=20"].colour < styles["length=50"].colour  # from dark to light
    free = [style for style in OTHERS if style.colour not in {each.colour for each in styles.values()}]
    assert free
    assert len({style[1:] for style in styles.values()}) == len(styles)
