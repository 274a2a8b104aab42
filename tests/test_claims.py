"""Each claim is judged on made-up records: one set in which it holds, and for each of its checks one that breaks it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_records import record

from experiments.claims import CLAIMS
from experiments.verdicts import Check, Evidence, NoEvidence, Verdict, judge
from synthlab.outrep import OUTREPS

LENGTHS = np.arange(1, 51)
BEYOND = np.maximum(LENGTHS - 10, 0)


def made(errors, seeds=3, losses=(0.1, 0.0001), **changed):
    """Records with the mean squared errors ``errors`` (an array over lengths 1..50), a little apart by seed."""
    made = []
    for seed in range(seeds):
        blank = record(seed, test_length=50, **changed)
        columns = {
            name: np.asarray(errors, dtype=float) * (1 + 0.01 * seed) for name in blank.metrics if name != "length"
        }
        training = pd.DataFrame({"step": [10, 20], "loss": losses})
        made.append(replace(blank, metrics=pd.DataFrame({"length": LENGTHS, **columns}), training=training))
    return made


def verdict(claim: str, **series) -> Verdict:
    [found] = judge(CLAIMS.values(), "Figure 1", [([claim], Evidence(series))])
    return found


def failing(found: Verdict) -> list[str]:
    return [check.what for check in found.checks if not check.holds]


MEAN = {"task": {"name": "mean"}, "outrep": {"name": "identity", "shift": 0.0}}
LENGTH = {"task": {"name": "length"}, "outrep": {"name": "identity", "shift": 0.0}}
SUM = {"task": {"name": "sum"}, "outrep": {"name": "identity", "shift": 0.0}}
FLAT, SQUARE = np.full(50, 1e-6), 1e-3 + BEYOND**2.0
RISING = np.where(LENGTHS > 10, 1e-4, 1e-6)


def test_1a_and_each_way_to_break_it():
    others = {name: made(RISING, **MEAN) for name in ("alibi", "rope", "learned")}
    assert verdict("1a", nope=made(FLAT, **MEAN), **others).word == "holds"
    assert failing(verdict("1a", nope=made(4e-5 * FLAT / FLAT, **MEAN), **others)) == ["NoPE: largest error"]
    assert failing(verdict("1a", nope=made(np.where(LENGTHS > 40, 2e-5, 1e-6), **MEAN), **others)) == [
        "NoPE: largest error beyond training / within"
    ]
    # 0.005 = 0.25 / 50 is what always answering 1/2 gives at length 50: no generalization, though it is small
    trivial = verdict("1a", nope=made(0.25 / LENGTHS, **MEAN), **others)
    assert trivial.word == "does not hold"
    assert "NoPE: error / best constant's, largest" in failing(trivial)
    assert trivial.checks[1].median == pytest.approx(1.01)  # the middle one of three seeds
    flat_rope = verdict("1a", nope=made(FLAT, **MEAN), **others | {"rope": made(FLAT, **MEAN)})
    assert (flat_rope.word, failing(flat_rope)) == ("holds in part", ["RoPE: growth beyond training"])


def test_5_compares_with_the_best_constant_under_uniform_counts():
    uniform = MEAN | {"inputs": {"name": "uniform_count"}}
    assert verdict("5", nope=made(FLAT, **uniform)).word == "holds"
    # at length 1 the mean is 0 or 1: variance 1/4; for long sequences that of U(0, 1): 1/12
    constant = verdict("5", nope=made((LENGTHS + 2) / (12 * LENGTHS), seeds=1, **uniform))
    assert constant.checks[0].median == pytest.approx(1)
    assert (LENGTHS + 2)[0] / 12 == 1 / 4
    assert constant.word == "does not hold"  # though it is flat


def every_encoding(errors, **task):
    """The same errors under each; nope's may be replaced."""
    return {name: made(errors, **task) for name in ("nope", "alibi", "rope", "learned")}


@pytest.mark.parametrize(("claim", "task"), [("1b", LENGTH), ("4a", SUM)])
def test_explosions_and_what_is_none(claim, task):
    exploding = every_encoding(SQUARE, **task)
    assert verdict(claim, **exploding).word == "holds"
    assert verdict(claim, **every_encoding(FLAT, **task)).word == "does not hold"
    [found] = failing(verdict(claim, **exploding | {"nope": made(np.minimum(SQUARE, 900), **task)}))
    assert "share of steps of 5 lengths" in found
    [found] = failing(verdict(claim, **exploding | {"nope": made(1 + BEYOND, **task)}))
    assert "longest test / longest training length" in found


def maps(task, **scales):
    return {name: made(SQUARE * scale, **task) for name, scale in scales.items()}


def test_1c_and_each_way_to_break_it():
    good = maps(LENGTH, identity=1, sqrt=0.5, log=0.3, rsqrt=0.1)
    near = made(np.where(LENGTHS < 31, 0.01, SQUARE * 0.1), **LENGTH)
    assert verdict("1c", **good | {"rsqrt": near}).word == "holds"
    assert failing(verdict("1c", **good)) == ["1/sqrt(x): horizon"]
    worse = good | {"rsqrt": near} | maps(LENGTH, sqrt=1.1)
    assert failing(verdict("1c", **worse)) == ["sqrt(x) / plain"]
    beaten = good | {"rsqrt": near} | maps(LENGTH, log=0.0001)
    assert failing(verdict("1c", **beaten)) == ["1/sqrt(x) / log x"]


def test_1c_plus_and_each_way_to_break_it():
    good = maps(LENGTH, identity=1, rlog=0.3, reciprocal=0.2, rsqrt=0.1)
    assert verdict("1c+", **good).word == "holds"
    beaten = verdict("1c+", **good | maps(LENGTH, reciprocal=0.05))
    assert (beaten.word, failing(beaten)) == ("holds in part", ["1/sqrt(x) / 1/x"])
    assert beaten.checks[-2].median == pytest.approx(2)
    assert failing(verdict("1c+", **good | maps(LENGTH, rlog=2))) == ["1/log(x+1) / plain"]
    equal = verdict("1c+", **maps(LENGTH, identity=1, rlog=1, reciprocal=1, rsqrt=1))
    assert equal.word == "does not hold"  # as good is not better


def test_4b_wants_half_the_error_of_the_map_that_the_paper_recommends():
    assert verdict("4b", **maps(SUM, identity=1, sqrt=0.9, log=0.8, rsqrt=0.4)).word == "holds"
    assert failing(verdict("4b", **maps(SUM, identity=1, sqrt=1.1, log=0.8, rsqrt=0.4))) == ["sqrt(x) / plain"]
    assert failing(verdict("4b", **maps(SUM, identity=1, sqrt=0.9, log=0.8, rsqrt=0.6))) == ["1/sqrt(x) / plain"]


def trained_to(length: int, scale: float = 1.0):
    errors = 1e-3 + np.maximum(LENGTHS - length, 0) ** 2.0
    return made(errors * scale, train_length=length, **SUM)


def test_3_compares_where_both_extrapolate():
    good = {"train_length=5": trained_to(5), "train_length=10": trained_to(10), "train_length=20": trained_to(20)}
    assert verdict("3", **good).word == "holds"
    assert verdict("3", **dict(reversed(good.items()))).word == "holds"
    # made 1.5 times worse than trained to 5 beyond length 10, and better within, which must not help it
    worse = trained_to(10)
    errors = np.where(LENGTHS > 10, 1.5 * (1e-3 + (LENGTHS - 5) ** 2.0), 1e-9)
    worse = made(errors, train_length=10, **SUM)
    found = verdict("3", **good | {"train_length=10": worse})
    assert failing(found) == ["sum, train_length = 10 / train_length = 5"]
    assert found.checks[0].median == pytest.approx(1.5)
    solved = made(FLAT, train_length=20, **SUM)
    assert len(failing(verdict("3", **good | {"train_length=20": solved}))) == 2  # no rising trend


def test_slow_counts_steps_to_one_percent():
    # 1 % of the variance of the mean, averaged over lengths 1..10: 0.0025 (1 + 1/2 + ... + 1/10) / 10 = 0.000732
    slow, fast = made(FLAT, losses=(0.00074, 0.0007), **MEAN), made(FLAT, losses=(0.00073, 0.0001), **MEAN)
    found = verdict("slow", alibi=slow, nope=fast, rope=fast, learned=fast)
    assert (found.word, found.checks[0].median) == ("holds", 2.0)
    assert verdict("slow", alibi=fast, nope=slow, rope=slow, learned=slow).word == "does not hold"
    never = made(FLAT, losses=(0.1, 0.1), **MEAN)
    assert verdict("slow", alibi=never, nope=fast, rope=fast, learned=fast).word == "holds"
    assert verdict("slow", alibi=fast, nope=never, rope=never, learned=never).word == "does not hold"
    nobody = verdict("slow", alibi=never, nope=never, rope=fast, learned=fast)
    assert nobody.word == "not judged"
    assert nobody.missing == ["neither ALiBi nor NoPE gets to a training loss of 0.00073 under any seed"]


@pytest.mark.parametrize(("power", "word"), [(2, "holds"), (1, "does not hold"), (3, "does not hold")])
@pytest.mark.parametrize("start", [0, 5.5, 10, 12])
def test_q_finds_the_exponent_wherever_the_length_is_counted_from(power, start, word):
    # from 5.5 = (l_train + 1) / 2 with power 2: what theorem 2 gives (equation 15)
    found = verdict("q", **every_encoding(np.abs(LENGTHS - start) ** float(power) + 1e-12, **LENGTH))
    assert found.word == word
    assert found.checks[0].median == pytest.approx(power, abs=1e-3)


def test_every_claim_says_what_it_measures_and_is_judged_by_a_figure():
    from test_figures import FIGURES, panels_of

    for claim in CLAIMS.values():
        assert all([claim.statement.endswith("."), claim.where, claim.quantity, claim.why])
    used = {claim for name in FIGURES if name.isdigit() for panel in panels_of(name) for claim in panel.claims}
    assert used == set(CLAIMS)


def test_the_median_over_seeds_decides():
    check = Check("x", np.array([0.5, 0.9, 40.0]), high=1.0)
    assert (check.holds, check.fulfilling, check.median) == (True, 2, 0.9)
    assert not Check("x", np.array([]), high=1.0).holds
    assert not Check("x", np.array([np.nan, np.nan]), low=0.0).holds
    assert not Check("x", np.array([1.0]), high=1.0).holds


def enough(claim: str) -> dict[str, list]:
    """Finished runs of all that the claim is about."""
    about = {group: {"name": name} for group, name in CLAIMS[claim].about.items() if group != "outrep"}
    about |= {"inputs": {"name": "bernoulli", "p": 0.5}} if about.get("inputs") == {"name": "bernoulli"} else {}
    runs = {}
    for name in CLAIMS[claim].series or ["train_length=5", "train_length=10"]:
        member = {"outrep": {"name": name if name in OUTREPS else "identity", "shift": 1.0}}
        length = int(name.partition("=")[2] or 10)
        runs[name] = made(SQUARE, losses=(0.1, 0.0001), train_length=length, **about, **member)
    return runs


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_a_claim_is_judged_on_the_runs_it_is_about_alone(claim):
    runs = enough(claim)
    assert verdict(claim, **runs).word != "not judged"
    for name in CLAIMS[claim].series:
        assert verdict(claim, **{key: value for key, value in runs.items() if key != name}).missing == [
            f"no runs of {name}"
        ]
        lost = verdict(claim, **runs | {name: [replace(run, diverged_at=1) for run in runs[name]]})
        assert lost.missing == [f"no finished run of {name}"]
    task = "sum" if CLAIMS[claim].about.get("task") != "sum" else "mean"
    other = {"task": {"name": task}} if claim != "3" else {"encoding": {"name": "alibi"}}
    first = next(iter(runs))
    wrong = [replace(run, config=run.config.model_copy(update=other)) for run in runs[first]]
    assert "the claim is about" in verdict(claim, **runs | {first: wrong}).missing[0]


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim != "slow"])  # which is about training alone
def test_a_claim_about_longer_sequences_is_not_judged_on_short_tests(claim):
    runs = enough(claim)
    short = {
        name: [replace(r, config=r.config.model_copy(update={"test_length": 10}), metrics=r.metrics[:10]) for r in made]
        for name, made in runs.items()
    }
    assert verdict(claim, **short).word == "not judged"


def test_a_ratio_is_over_the_seeds_and_lengths_that_both_have():
    a, b = made(SQUARE, **LENGTH), made(2 * SQUARE, **LENGTH)
    b[1] = replace(b[1], diverged_at=3)
    assert Evidence({"a": a, "b": b}).ratio("a", "b") == pytest.approx([0.5, 0.5])
    with pytest.raises(NoEvidence, match="a and b have no seed or no length in common"):
        Evidence({"a": a[1:2], "b": b}).ratio("a", "b")
    infinite = made(np.where(LENGTHS == 30, np.inf, SQUARE), **LENGTH)
    assert not Check("x", Evidence({"a": infinite, "b": a}).ratio("a", "b"), high=1e9).holds
