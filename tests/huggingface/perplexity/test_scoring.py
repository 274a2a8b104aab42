"""The windows of each measure by hand; losses against a loop over tokens; misalignment; tables; what is refused."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from support.causal import Causal, Keeping, documents, everything
from synthlab.errors import InputError
from synthlab.huggingface.cache import Cache
from synthlab.huggingface.perplexity.scoring import DISTANCES, CausalScorer, Measurement, Part
from synthlab.huggingface.perplexity.tables import make_tables, ratio
from synthlab.huggingface.perplexity.windows import Rule, ScoredWindow, batches, rules
from synthlab.longshort.misalignment import misalignment
from synthlab.rng import seed_generator
from synthlab.storage.files import Folder

[DOCUMENT] = documents(41)
MEASURES = ("disjoint", "strided", "sliding", "last")


def task(measure: str, length: int, longest: int, stride: int, seed: int = 0) -> Measurement:
    named = rules(length, longest, stride)
    return Measurement(DOCUMENT, measure, named.get(measure, named["disjoint"]), seed)


def contexts(windows: list[ScoredWindow]) -> list[tuple[int, int]]:
    """Each token that counts, with its context."""
    return [(token, token - start) for start, end, counted in windows for token in range(end - counted, end)]


def test_windows_by_hand():
    named = rules(4, 6, 2)
    assert named["disjoint"].cut(10) == [(0, 4, 3), (4, 8, 3)]
    assert named["strided"].cut(9) == [(0, 4, 3), (2, 6, 2), (4, 8, 2), (6, 9, 1)]
    assert named["sliding"].cut(8) == [(2, 6, 1), (3, 7, 1), (4, 8, 1)]
    assert named["last"].cut(13) == [(2, 6, 1), (8, 12, 1)]


@st.composite
def cases(draw) -> tuple[int, dict[str, Rule], dict[str, Rule]]:
    """A document's size, and the rules of a length and of 2 tokens, which share the longest length."""
    length = draw(st.integers(2, 12))
    longest, stride = draw(st.integers(length, 20)), draw(st.integers(1, length - 1))
    return draw(st.integers(longest, 60)), rules(length, longest, stride), rules(2, longest, stride)


@given(cases(), st.integers(1, 50))
def test_laws_of_windows(case, size):
    tokens, named, shorter = case
    for rule in named.values():
        windows = rule.cut(tokens)
        counted = [token for token, _ in contexts(windows)]
        assert windows
        assert len(set(counted)) == len(counted)  # none twice
        assert all(0 <= start < end <= tokens and end - start <= rule.length for start, end, _ in windows)
        assert all(1 <= context < rule.length for _, context in contexts(windows))
        parts = batches(windows, size)
        assert sorted(window for part in parts for window in part) == sorted(windows)
        assert all(len({(window.read, window.counted) for window in part}) == 1 for part in parts)
        assert all(len(part) == 1 or sum(window.read for window in part) <= size for part in parts)
    found, rule = contexts(named["strided"].cut(tokens)), named["strided"]
    assert [token for token, _ in found] == list(range(1, tokens))
    assert all(context >= rule.length - rule.stride for token, context in found if token >= rule.length)
    for measure in ("sliding", "last"):  # of all lengths the same tokens, with full contexts
        found = contexts(named[measure].cut(tokens))
        assert {context for _, context in found} == {rule.length - 1}
        assert [token for token, _ in found] == [token for token, _ in contexts(shorter[measure].cut(tokens))]


def loss(model: Causal, start: int, token: int, begin: int | None = None) -> float:
    """The loss of one token after those from ``start`` on: one call for it alone."""
    context = DOCUMENT.tokens[start:token].clone()
    if begin is not None:
        context[0] = begin
    with torch.no_grad():
        return F.cross_entropy(model(context[None]).logits[0, -1], DOCUMENT.tokens[token]).item()


def by_loop(model: Causal, measure: str, length: int, longest: int, stride: int, begin: int | None) -> list[float]:
    """The same measures, written once more, token by token."""
    size, found = len(DOCUMENT.tokens), []
    for token in range(1, size):
        if measure == "disjoint" and token % length and token < size // length * length:
            found.append(loss(model, token // length * length, token, begin))
        if measure == "strided":  # the first window that reaches the token
            start = 0 if token < length else math.ceil((token - length + 1) / stride) * stride
            found.append(loss(model, start, token, begin))
        is_last = (token + 1) % longest == 0
        if (measure == "sliding" and token >= longest - 1) or (measure == "last" and is_last):
            found.append(loss(model, token - length + 1, token, begin))
    return found


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("case", [(2, 2, 1), (6, 8, 2), (7, 7, 3), (8, 20, 5)])
@pytest.mark.parametrize("begin", [None, 2])
def test_losses_are_those_of_a_loop_over_tokens(measure, case, begin):
    model = everything()
    expected = by_loop(model, measure, *case, begin)
    part = task(measure, *case).compute(CausalScorer(model, 64, begin))
    assert part.count == len(expected) > 0
    assert part.sums["loss"] == pytest.approx(sum(expected), abs=1e-6)


@pytest.mark.parametrize("measure", MEASURES)
def test_batches_and_kept_logits_change_nothing(measure):
    model, measured = everything(), task(measure, 6, 8, 2)
    one = measured.compute(CausalScorer(model, 1))
    assert sum(model.read) == measured.cost()
    for scorer in (CausalScorer(model, 1000), CausalScorer(Keeping(model.inner), 64)):
        same = measured.compute(scorer)
        assert same.count == one.count
        assert same.sums["loss"] == pytest.approx(one.sums["loss"], abs=1e-9)
        assert same.contexts == pytest.approx(one.contexts, abs=1e-9)


def test_loss_by_position():
    model = everything()
    part = task("disjoint", 8, 8, 4).compute(CausalScorer(model, 64))
    assert sum(part.contexts) == pytest.approx(part.sums["loss"], abs=1e-9)
    assert part.contexts[2] == pytest.approx(sum(loss(model, start, start + 3) for start in range(0, 40, 8)), abs=1e-6)


def test_misalignment_is_that_of_the_documents_pieces():
    model, length = everything(), 8
    found = task("misalignment", length, 20, 4, seed=5).compute(CausalScorer(model, 64))
    draws = seed_generator(np.random.SeedSequence((5, length, int(DOCUMENT.digest[:16], 16))))
    pieces = DOCUMENT.tokens[:40].view(5, 8)
    expected = misalignment(lambda tokens: model(tokens).logits, pieces, 4, 8, draws)
    assert found.count == 5
    assert found.sums["sce"] / 5 == pytest.approx(expected.sce.value, abs=1e-6)
    assert found.sums["excess"] / 5 == pytest.approx(expected.excess.value, abs=1e-6)
    assert expected.excess.value > 0


@pytest.mark.parametrize("measure", ["disjoint", "misalignment"])
def test_answers_that_are_no_numbers_are_refused(measure):
    broken = everything()
    with torch.no_grad():
        broken.inner.direction.fill_(math.nan)
    with pytest.raises(InputError, match=r"^model: has logits that are not finite in 0 at length 6; .*dtype.*$"):
        task(measure, 6, 8, 2).compute(CausalScorer(broken, 64))


def test_a_model_of_few_positions_is_refused():
    positions = torch.nn.Embedding(4, 3)  # a model of 4 positions
    positions.forward = lambda tokens: positions.weight[torch.arange(tokens.shape[1])].expand(len(tokens), -1, -1)
    assert task("disjoint", 4, 4, 2).compute(CausalScorer(Causal(positions), 64)).count == 30
    with pytest.raises(InputError, match=r"^lengths: model cannot read 5 tokens \(IndexError: index"):
        task("disjoint", 6, 6, 2).compute(CausalScorer(Causal(positions), 64))


def test_parts_come_back_and_damage_is_nothing(tmp_path):
    cache = Cache(Folder(tmp_path), Part)
    part = Part(count=3, sums={"loss": 0.1 + 0.2}, contexts=[1e-300, 2.0])
    assert cache.read("ab" * 16) is None
    cache.write("ab" * 16, part)
    assert cache.read("ab" * 16) == part
    (path,) = tmp_path.rglob("*.json")
    for damage in (path.read_bytes()[:-1], b"[" * 100_000, b'{"count": "3"}', b"\xff"):
        path.write_bytes(damage)
        assert cache.read("ab" * 16) is None


def test_ratio_by_hand():
    value, error = ratio(np.array([6.0, 2.0]), np.array([3.0, 1.0]))
    assert (value, error) == (2.0, 0.0)  # both documents agree
    value, error = ratio(np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    assert value == 2.0
    assert error == pytest.approx(np.std([3, 1], ddof=1) / math.sqrt(2))  # of equal counts the usual one
    assert math.isnan(ratio(np.array([3.0]), np.array([1.0]))[1])


def test_tables_by_hand():
    """Of two documents whose loss per token is 1 and 2 nats."""
    done = []
    for number, document in enumerate(documents(8, 16), 1):
        for length in (4, 8):
            windows = len(document.tokens) // length
            count = windows * (length - 1)
            named, losses = rules(length, 8, 2), {"count": count, "sums": {"loss": float(number * count)}}
            parts = {
                "disjoint": Part(**losses, contexts=[float(number * windows)] * (length - 1)),
                "strided": Part(**losses),
                "misalignment": Part(count=2, sums=dict.fromkeys(DISTANCES, 3.0)),
            }
            done += [(Measurement(document, name, named["disjoint"], 0), part) for name, part in parts.items()]
    made = make_tables(done)
    row = made.perplexity.iloc[0]
    assert (row["measure"], row["length"], row["documents"], row["tokens"]) == ("disjoint", 4, 2, 6 + 12)
    assert row["loss"] == pytest.approx((6 * 1 + 12 * 2) / 18)
    assert row["perplexity"] == pytest.approx(math.exp(30 / 18))
    assert row["perplexity_error"] == pytest.approx(row["perplexity"] * row["loss_error"])
    assert row["bits_per_byte"] == pytest.approx(30 / 18 / math.log(2) / 2)  # a token is 2 bytes
    assert list(made.misalignment["sce"]) == [1.5, 1.5]
    by_context = made.positions[made.positions["length"] == 8]
    assert list(by_context["context"]) == list(range(1, 8))
    assert by_context["loss"].to_numpy() == pytest.approx((1 + 2 * 2) / 3)
    assert set(made.documents["document"]) == {"0", "1"}
