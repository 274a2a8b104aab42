import pandas as pd
import pytest

from support.records import record
from synthlab.analysis.record_list import Records
from synthlab.analysis.tables import curves, find_varying, label_series


def table(*records):
    return Records(records).table()


def test_curves_hold_median_and_range_over_seeds():
    drawn = curves(table(record(0), record(1), record(5)), "mse")
    assert drawn.columns.tolist() == ["series", "length", "median", "low", "high", "seeds", "train_length"]
    third = drawn[drawn["length"] == 3].iloc[0]
    assert (third["low"], third["median"], third["high"]) == pytest.approx((0.003 / 3, 1.003 / 3, 5.003 / 3))
    assert third["seeds"] == 3
    assert drawn["length"].tolist() == list(range(1, 13))


def test_series_are_named_by_what_differs():
    rope, alibi = {"encoding": {"name": "rope", "base": 1e4}}, {"encoding": {"name": "alibi"}}
    both = table(record(0, **rope), record(0, **alibi))
    assert find_varying(both) == ["encoding"]
    assert label_series(both).unique().tolist() == ["rope", "alibi"]
    longer = table(record(0, **rope, train_length=5), record(0, **alibi, train_length=6))
    assert label_series(longer).unique().tolist() == ["encoding=rope train_length=5", "encoding=alibi train_length=6"]
    bases = table(record(0, **rope), record(0, encoding={"name": "rope", "base": 5.0}))
    assert find_varying(bases) == ["encoding.base"]
    assert label_series(table(record(0))).unique().tolist() == ["length"]


def test_seeds_set_apart_are_settings():
    plain = table(*(record(seed) for seed in range(3)))
    assert find_varying(plain) == []
    apart = [record(seed, weight_seed=weights) for weights in (7, 8) for seed in range(2)]
    assert find_varying(table(*apart)) == ["weight_seed"]
    assert label_series(table(*apart)).unique().tolist() == ["weight_seed=7", "weight_seed=8"]
    others = plain.assign(**dict.fromkeys(["weight_seed", "data_seed", "test_seed"]))  # of a kind without them
    assert find_varying(pd.concat([plain.astype(object), others.astype(object)])) == []


def test_runs_that_follow_their_seed_are_one_series():
    mixed = [record(seed) for seed in range(3)] + [record(seed, test_seed=0) for seed in (1, 2)]
    assert label_series(table(*mixed)).value_counts().to_dict() == {"test_seed=0": 3 * 12, "test_seed=seed": 2 * 12}
    crossed = [record(seed, test_seed=tested) for seed in range(2) for tested in range(2)]
    assert set(label_series(table(*crossed))) == {"test_seed=0", "test_seed=1"}
    one_seed = [record(0, test_seed=tested) for tested in range(3)]
    assert set(label_series(table(*one_seed))) == {"test_seed=0", "test_seed=1", "test_seed=2"}
