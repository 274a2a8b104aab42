"""Means over tokens, standard errors over documents, and what people read."""

import math

import numpy as np
import pytest

from support.causal import documents
from synthlab.huggingface.perplexity.measurements import Measurement
from synthlab.huggingface.perplexity.scoring import DISTANCES, Part
from synthlab.huggingface.perplexity.tables import ratio, tables
from synthlab.huggingface.perplexity.windows import Span


def test_ratio_by_hand():
    value, error = ratio(np.array([6.0, 2.0]), np.array([3.0, 1.0]))
    assert (value, error) == (2.0, 0.0)  # both documents agree
    value, error = ratio(np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    assert value == 2.0
    assert error == pytest.approx(np.std([3, 1], ddof=1) / math.sqrt(2))  # of equal counts the usual one
    assert math.isnan(ratio(np.array([3.0]), np.array([1.0]))[1])


def found(*sizes: int):
    """The tables of documents whose loss per token is 1, 2, ... nats."""
    done = []
    for number, document in enumerate(documents(*sizes), 1):
        for length in (4, 8):
            count = len(document.tokens) // length * (length - 1)
            windows = count / (length - 1)
            losses = {"count": count, "sums": {"loss": float(number * count)}}
            parts = {
                "disjoint": Part(**losses, contexts=[number * windows] * (length - 1)),
                "strided": Part(**losses),
                "misalignment": Part(count=2, sums=dict.fromkeys(DISTANCES, 3.0)),
            }
            done += [(Measurement(document, name, Span(length, 8, 2), 0), part) for name, part in parts.items()]
    return tables(done)


def test_tables_by_hand():
    made = found(8, 16)
    row = made.perplexity.iloc[0]
    assert (row["measure"], row["length"], row["documents"], row["tokens"]) == ("disjoint", 4, 2, 6 + 12)
    assert row["loss"] == pytest.approx((6 * 1 + 12 * 2) / 18)
    assert row["perplexity"] == pytest.approx(math.exp(30 / 18))
    assert row["perplexity_error"] == pytest.approx(row["perplexity"] * row["loss_error"])
    assert row["bits_per_byte"] == pytest.approx(30 / 18 / math.log(2) / 2)  # a token is 2 bytes
    assert list(made.perplexity["stride"].dropna()) == [2, 2]
    assert list(made.misalignment["sce"]) == [1.5, 1.5]
    contexts = made.positions[made.positions["length"] == 8]
    assert list(contexts["context"]) == list(range(1, 8))
    assert contexts["loss"].to_numpy() == pytest.approx((1 + 2 * 2) / 3)
    assert set(made.documents["document"]) == {"0", "1"}
