import pytest

from support.records import record
from synthlab.analysis.curves import STYLES, band_note, style_of
from synthlab.analysis.record_list import Records
from synthlab.analysis.tables import curves
from synthlab.models.encodings import ENCODINGS
from synthlab.regression.outrep import OUTREPS


@pytest.mark.parametrize("registry", [ENCODINGS, OUTREPS], ids=["encodings", "maps"])
def test_every_member_has_a_style_of_its_own_readable_without_colour(registry):
    assert set(registry) <= set(STYLES)
    styles = [STYLES[name] for name in registry]
    assert len({style.colour for style in styles}) == len(styles)
    assert len({style.marker for style in styles}) == len(styles)


def test_the_note_says_how_many_seeds_and_what_the_band_is():
    two = curves(Records([record(0), record(1)]).table(), "mse")
    assert band_note(two) == "median of 2 seeds, band from least to greatest"
    assert band_note(curves(Records([record(0)]).table(), "mse")) == "one seed"


def test_many_series_without_styles_all_look_different():
    styles = style_of([f"mine{k}" for k in range(35)])
    assert len({style[1:] for style in styles.values()}) == 35
