"""The encoding whose readout weight falls as a power of the length, what is claimed of it, and its plot."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
import torch

from experiments.output_alignment.readout import CLAIMS, find_best_powers
from support.models import DIMS, model
from support.records import record
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Encoding
from synthlab.models.packing import lay_out
from synthlab.models.reference import predict_prefixes
from synthlab.models.transformer import TABLE_LENGTH
from synthlab.models.unique_tokens import TokenTable
from synthlab.storage.records import Record
from synthlab.studies.evidence import Evidence
from synthlab.studies.verdicts import ClaimData, judge

EACH = ("bos", "both", "own", "none")
POWERS = (-3.0, -2.0, -1.0, -0.5, -0.25)


def member(q: float, raised: str, inner: str = "nope") -> dict:
    return {"name": "readout", "q": q, "raised": raised, "inner": {"name": inner}}


def build(*chosen, **named) -> Encoding:
    return ENCODINGS.build(member(*chosen, **named), DIMS)


def symbols(length: int) -> torch.Tensor:
    return torch.randint(0, 2, (1, 3, length), generator=torch.Generator().manual_seed(0))


def weights_of_readouts(encoding: Encoding, length: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The weights of BOS and of EOS itself at each length, with equal logits, in the packed layout and in the table."""
    (packed,) = lay_out(symbols(length), None, [encoding])
    of_packed = packed.logit_offsets[0, 0, 0].softmax(-1)
    table = TokenTable.of(symbols(length), encoding, only_readouts=True)
    of_table = table.logit_offsets[0, 0, 0].masked_fill(~table.is_present[0, 0], -torch.inf).softmax(-1)[-length:]
    return [(of_packed[:, 0], of_packed[:, -1]), (of_table[:, 0], of_table[:, -length:].diagonal())]


@pytest.mark.parametrize("q", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("raised", EACH)
def test_weights_at_equal_logits_by_hand_in_both_layouts(q, raised):
    k = torch.arange(1.0, 13.0)
    u = k ** (1 - q)
    bos, own = {
        "bos": (u / (u + k + 1), 1 / (u + k + 1)),
        "both": (1 / (2 + k**q), 1 / (2 + k**q)),
        "own": (0 * k, 1 / (1 + k**q)),
        "none": (0 * k, 0 * k),
    }[raised]
    for of_bos, of_own in weights_of_readouts(build(q, raised), 12):
        torch.testing.assert_close(of_bos, bos)
        torch.testing.assert_close(of_own, own)


@pytest.mark.parametrize("raised", EACH)
def test_packed_rows_answer_as_each_prefix_alone(raised):
    net = model(partial(ENCODINGS.build, member(2.0, raised, "alibi")))
    for length in (6, TABLE_LENGTH + 2):
        x = symbols(length)
        outputs = net(x)[0]
        for k in (1, 2, length):
            torch.testing.assert_close(outputs[:, k - 1], predict_prefixes(net, x[0, :, :k])[:, -1])


@cache
def blank_record(p: float, q: float, seed: int, raised: str = "bos") -> Record:
    outrep = {"name": "power", "p": p, "shift": 0.0}
    return record(seed, outrep=outrep, encoding=member(q, raised), test_length=20)


def made(best: float, q: float, seeds=3, loss=1e-9, raised="bos") -> dict[str, list]:
    """A series for each power, whose error at every length is exp of a parabola in log(-p) with its least at
    ``best``, times a factor for each seed."""
    series = {}
    for p in POWERS:
        error = 1e-3 * np.exp(2 * np.log(p / best) ** 2)
        runs = []
        for seed in range(seeds):
            blank = blank_record(p, q, seed, raised)
            metrics = blank.metrics.assign(mse=error * (1 + seed), clipped=0.0, relative_error=0.01)
            training = pd.DataFrame({"step": [10, 20], "loss": [1.0, loss]})
            runs.append(replace(blank, metrics=metrics, training=training))
        series[f"encoding.q={q} outrep.p={p}"] = runs
    return series


def evidence_of(**series) -> Evidence:
    return Evidence(series, dict.fromkeys(series, 1e-5))


@pytest.mark.parametrize("best", [-0.5, -0.83, -1.9])
def test_the_best_power_is_where_a_parabola_is_least(best):
    found = find_best_powers(evidence_of(**made(best, 2.0)))
    assert list(found) == [2.0]
    assert found[2.0].to_dict() == pytest.approx(dict.fromkeys(range(3), -best))


def verdicts(*series: dict[str, list]) -> dict[str, str]:
    """The word on each claim."""
    claim_data = ClaimData(list(CLAIMS), evidence_of(**{name: runs for each in series for name, runs in each.items()}))
    return {verdict.claim.id: verdict.word for verdict in judge(CLAIMS.values(), "readout", [claim_data])}


def test_models_whose_logits_are_not_raised_are_checked_once():
    def checked(raised: str) -> list[str]:
        series = {name: runs for q in (0.5, 1.0, 2.0) for name, runs in made(-q, q, raised=raised).items()}
        (verdict,) = judge(CLAIMS.values(), "readout", [ClaimData(list(CLAIMS), evidence_of(**series))])
        return [check.what for check in verdict.checks]

    assert [len(checked(raised)) for raised in ("bos", "both")] == [3, 2]
    assert not any("q = 1:" in name for name in checked("both"))


def test_the_account_and_what_is_none():
    def word(*best):
        return verdicts(*(made(p, q, seeds=8) for p, q in zip(best, (0.5, 1.0, 2.0), strict=True)))["power"]

    assert word(-0.5, -1.0, -2.0) == "holds"
    assert word(-1.01, -1.0, -0.99) == word(-2.0, -1.0, -0.5) == "fails in part"
    unlearned = [made(-q, q, seeds=6, loss=1.0) for q in (0.5, 1.0, 2.0)]  # no run fits
    assert set(verdicts(*unlearned).values()) == {"not tested"}
