from support.records import record
from synthlab.analysis.curves import band_note
from synthlab.analysis.record_list import Records
from synthlab.analysis.tables import curves


def test_the_note_says_how_many_seeds_and_what_the_band_is():
    two = curves(Records([record(0), record(1)]).table(), "mse")
    assert band_note(two) == "median of 2 seeds, band from least to greatest"
    assert band_note(curves(Records([record(0)]).table(), "mse")) == "one seed"
