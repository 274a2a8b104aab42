"""Softmax by length: the weights measured in a model, and the claims by hand."""

import numpy as np
import pandas as pd
import pytest

import synthlab
from experiments.softmax.attention import measure_attention
from experiments.softmax.claims import CLAIMS
from support.claims import judge_on

SMALL = {"model": {"width": 16, "heads": 2}, "protocol": {"steps": 1, "batch": 2, "record_every": 1}}


def runs(values: dict[str, dict[int, tuple[float, float]]], fit: bool = True) -> pd.DataFrame:
    """Five runs of each arm, alike but for the seed's 0.001: by the last length of a range, weight and exact match."""
    common = {"task": "greatest", "train_length": 16, "fit": fit}
    return pd.DataFrame(
        common
        | {"arm": arm, "run": f"{arm}{seed}", "seed": seed, "last": last}
        | {"weight": weight + seed / 1000, "exact": exact + seed / 1000}
        for arm, by_length in values.items()
        for last, (weight, exact) in by_length.items()
        for seed in range(5)
    )


def words(table: pd.DataFrame) -> list[str]:
    return [judge_on(CLAIMS, name, table).word for name in CLAIMS]


FALLS, KEEPS = {16: (0.9, 0.9), 128: (0.4, 0.6)}, {16: (0.9, 0.9), 128: (0.9, 0.8)}


def test_the_claims_by_hand():
    assert words(runs({"softmax": FALLS, "log n": KEEPS, "SSMax": KEEPS})) == ["holds"] * 3
    # The weight stays, and is no smaller than that of the others.
    assert words(runs({"softmax": KEEPS, "log n": FALLS, "SSMax": KEEPS})) == ["fails"] * 3
    assert words(runs({"softmax": FALLS, "log n": KEEPS, "SSMax": KEEPS}, fit=False)) == ["not tested"] * 3


@pytest.mark.parametrize("ask", ["greatest", "number"])
def test_weights_at_the_beginning_of_training_are_near_uniform(ask):
    lengths = {"train_length": 4, "test_length": 8}
    train = {"task": {"name": "retrieval", "ask": ask}, "encoding": "nope", "evaluation": {"sequences": 2}}
    model = synthlab.train(**train, **lengths, **SMALL, progress=False)
    table = measure_attention(model.record, [4, 8])
    assert table["last"].tolist() == [4, 8]
    # n items, begin, separator and question: the chosen head is the best of four, none of which has learned anything.
    assert np.allclose(table["weight"], 1 / (table["last"] + 3), rtol=0.8)
    assert (table["weight"] < table["bound"]).all()
