"""How far can counting go? The readout's weight falls as k^-q, and the target is mapped by x^p.

The study ``readout`` found one pair ahead of 1/x, q = 1/2 with x^-0.35, as the least of 88 medians on seeds 0 to 9.
Here it is judged on other seeds, together with an account of how far any pair can go.

The account. A model answers by z = f(w), where w is the weight, and an error d of z is an error of the answer of
d L^|p| / |p|, relative to the length L. At length 50 this factor is 50 for 1/x, 11 for x^-0.35 and least, 10.6, for
p = -1 / log(50) = -0.26. But 1/x is smooth in w only if w falls as 1/k: a milder map needs a milder weight.
``find_optimum`` gives the exact optimum of linear attention, whose weight of BOS is 1 / (1 + k^q). With the best p of
each q, its geometric mean error over lengths 11 to 50 is 30, 1.7, 0.24, 0.02 and 0.0013 for q = 2, 1, 1/2, 1/4, 1/8:
p / -q is 0.77, 0.65, 0.43, 0.24 and 0.12. In the limit of small q the weight is a line in log k, and log x is counted
without any error.

Predictions and what refutes them, written before the first run:

- ``far``: q = 1/2 with x^-0.35 errs less than q = 1 with 1/x, and stays within 5, 10 and 20 % further. Refuted if the
  other seeds do not show it: the pair was then a lucky draw.
- ``pair``: it errs less than x^-0.35 at q = 1, and than 1/x at q = 1/2. Refuted if one half of the pair does it alone.
- ``halved``: with p = -0.7 q, each q errs less than twice that q, from 2 down to 1/4. Refuted if a milder weight is
  worse: trained models then do not extrapolate it as linear attention does. About 1/8 the account says the same, but
  there the weight moves only from 0.33 to 0.30 over the training lengths, and what it costs to read that is not known.
- ``optimum``: the best power of each q lies between linear attention's and -q. Linear attention cannot change the 1 in
  1 + k^q, while softmax can lower it, which moves the best power towards -q. Refuted if it lies outside.
- ``log``: q = 1/8 with log x errs less than the pair. Linear attention says so (6.5 at length 50); a trained model may
  fail to read so flat a weight, which would refute it.
- ``ssmax``: logits times a learned multiple of log n can make a weight fall as any power, so SSMax could find q by
  itself. Training lengths do not ask for it: the pair errs less than SSMax with the same map, and than SSMax with 1/x.
- ``far`` again with two layers, width 64, ALiBi, BOS alone, twice the training length, and on the sum. Each may refute
  that the pair is more than a trait of the default model. With ALiBi and BOS alone the study ``readout`` had
  such runs on other seeds.

Added after a pilot of three other seeds, in which x^-0.0875 erred far less than log x, though as maps they differ by
little more than a factor and an offset:

- ``scale``: the targets of x^-0.35 spread 0.6 times as much as those of 1/x. If that is what helps, 1/x times 1/4 or
  1/10 (``Scaled``) does as well as the pair. The account says that no factor matters, and that the pair stays ahead.
"""

from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import cast

import numpy as np
import pandas as pd
from pydantic import PositiveFloat

from experiments.output_alignment.readout import find_best_powers
from synthlab.numbers.outrep import OUTREPS, OutRep
from synthlab.numbers.outrep.base import POSITIVE, REALS
from synthlab.numbers.run import NumbersRun, horizon
from synthlab.studies.checks import Check
from synthlab.studies.evidence import Evidence, NoEvidence
from synthlab.studies.verdicts import Claims
from theory.closed_forms.numeric import expected_errors, fit_outputs


class Scaled(OutRep):
    """f(x) = ``scale`` times x^``p``, or times log x for a ``p`` of 0: the same map in other units."""

    domain = POSITIVE

    def __init__(self, p: float, scale: PositiveFloat, shift: float | None = None):
        super().__init__(shift)
        self.p, self.scale = p, scale
        self.increasing, self.image = p >= 0, POSITIVE if p else REALS

    def f(self, x):
        return self.scale * (x.pow(self.p) if self.p else x.log())

    def f_inverse(self, z):
        return (z / self.scale).pow(1 / self.p) if self.p else (z / self.scale).exp()


CLAIMS = Claims[Evidence]()
WHERE, LESS = "the lab's account: results, how far counting goes", "a ratio under 1 is better"
TOLERANCES = (0.05, 0.1, 0.2)  # relative errors of a horizon
PAIR, RECIPROCAL = (0.5, -0.35), (1.0, -1.0)  # q and p


def find_optimum(q: float, outrep: str, p: float | None, lengths: Iterable[int], train_length: int = 10) -> np.ndarray:
    """Return the squared error of linear attention's optimum on the length task, at some ``lengths``.

    Its weight of BOS is 1 / (1 + k^q). ``p`` is the power of the map ``power``, None for another.
    """
    built = OUTREPS.build({"name": outrep, "shift": 0.0} | ({} if p is None else {"p": p}))
    outputs, chosen = fit_outputs("length", train_length, built, bos=True, q=q), np.array(list(lengths))
    return expected_errors(outputs, "length", built, 1000.0, chosen.max(), q=q)[0][chosen - 1]


@cache
def find_best_share(q: float, longest: int) -> float:
    """Return the best p / -q of linear attention, by the geometric mean of the error from length 11 to ``longest``."""
    shares = np.geomspace(0.1, 1.2, 41)
    errors = [np.log(find_optimum(q, "power", -share * q, range(11, longest + 1, 3))).mean() for share in shares]
    return float(shares[np.argmin(errors)])


def find_series(
    evidence: Evidence, q: float | None, p: float | None, encoding: str = "readout", scale: float | None = None
) -> str:
    """Return the name of the series of an encoding and a map; a ``p`` of None is log x.

    Raises NoEvidence if there is none.
    """
    for name in evidence.names:
        if evidence.records[name]:
            config = cast(NumbersRun, evidence.config(name))
            outrep = config.outrep
            found = config.encoding["name"], config.encoding.get("q"), outrep.get("p"), outrep.get("scale")
            if found == (encoding, q, p, scale):
                return name
    raise NoEvidence(f"no finished run of {encoding} with q={q} and p={p}")


def measure_horizons(evidence: Evidence, name: str, tolerance: float) -> pd.Series:
    """Return the length up to which the relative error stays under ``tolerance``, for each seed."""
    return evidence.measured(name, "relative_error").apply(lambda errors: horizon(list(errors), tolerance), axis=1)


def _check_less(evidence: Evidence, what: str, name: str, other: str, model: str = "") -> Check:
    """Check that one series errs less than another."""
    return Check(f"{model}error / {what}", evidence.ratio(name, other), high=1.0, series=(name, other))


def _name_model(config: NumbersRun) -> str:
    """Return how a model differs from the default one, and a colon; nothing for the default model."""
    model, encoding = config.model, config.encoding
    differences = {
        "two layers": model["depth"] == 2,
        "width 64": model["width"] == 64,
        "ALiBi": encoding.get("inner", {}).get("name") == "alibi",
        "BOS alone": encoding.get("raised") == "bos",
        "trained to 20": config.train_length == 20,
        "sum": config.task["name"] == "sum",
    }
    return "".join(f"{name}: " for name, differs in differences.items() if differs)


@CLAIMS.claim(
    "far",
    where=WHERE,
    statement="NoPE: if the readout's weight falls as k^-1/2, the map x^-0.35 errs less than 1/x without such a "
    "readout, and reaches further.",
    quantity="error / that of 1/x under the same seed, geometric mean over the lengths beyond training; horizons by "
    "three tolerances",
    why="a ratio under 1 is better, and a difference under 0; no tolerance is the paper's, so there are three",
)
def check_far(evidence: Evidence) -> list[Check]:
    """Check that the pair errs less than 1/x at q = 1, and reaches further.

    A seed under which both reach the longest tested length does not tell which reaches further. (The first judgement
    took it for a failure; no verdict hung on it.)
    """
    pair, plain = find_series(evidence, *PAIR), find_series(evidence, *RECIPROCAL)
    longest = cast(NumbersRun, evidence.config(pair)).test_length
    checks = [_check_less(evidence, "1/x's at q = 1", pair, plain)]
    for tolerance in TOLERANCES:
        own, other = (measure_horizons(evidence, name, tolerance) for name in (pair, plain))
        lead = (other - own).mask((other == longest) & (own == longest))
        what = f"horizon at {tolerance:.0%}: 1/x's at q = 1 minus its own"
        checks.append(Check(what, lead.to_numpy(), high=0.0, series=(pair, plain)))
    return checks


@CLAIMS.claim(
    "far_elsewhere",
    where=WHERE,
    statement="With two layers, width 64, ALiBi, BOS alone, training length 20, and on the sum: if the readout's "
    "weight falls as k^-1/2, the map x^-0.35 errs less than 1/x without such a readout.",
    quantity="error / that of 1/x under the same seed, geometric mean over the lengths beyond training",
    why=LESS,
)
def check_elsewhere(evidence: Evidence) -> list[Check]:
    """Check that the pair errs less than 1/x at q = 1 in another model."""
    pair = find_series(evidence, *PAIR)
    model = _name_model(cast(NumbersRun, evidence.config(pair)))
    return [_check_less(evidence, "1/x's at q = 1", pair, find_series(evidence, *RECIPROCAL), model)]


@CLAIMS.claim(
    "pair",
    where=WHERE,
    statement="A weight that falls as k^-1/2 and the map x^-0.35 err less together than each of them alone, than "
    "1/x times 0.1, 0.25 or 4, and than SSMax, whose learned multiple of log n could find such a readout by itself.",
    quantity="error / that of the other readout and map, same seed, geometric mean beyond training",
    why=LESS,
)
def check_pair(evidence: Evidence) -> list[Check]:
    """Check the pair against those that a panel has: its halves, 1/x in other units, SSMax."""
    (q, p), (other_q, other_p), pair = PAIR, RECIPROCAL, find_series(evidence, *PAIR)
    others = {
        f"the map's alone, q = {other_q:g}": (other_q, p),
        f"the readout's alone, p = {other_p:g}": (q, other_p),
        **{f"SSMax's, p = {power:g}": (None, power, "ssmax") for power in (p, other_p)},
        **{f"that of 1/x times {scale:g}": (*RECIPROCAL, "readout", scale) for scale in (0.1, 0.25, 4.0)},
    }
    found = []
    for what, other in others.items():
        with suppress(NoEvidence):
            found.append(_check_less(evidence, what, pair, find_series(evidence, *other)))
    return found


@CLAIMS.claim(
    "halved",
    where=WHERE,
    statement="The more slowly the readout's weight falls, the less a model with the map x^(-0.7 q) errs, from q = 2 "
    "to 1/4.",
    quantity="error / that at twice the q, same seed, geometric mean beyond training",
    why="a ratio under 1 is better; 0.7 is that of the pair",
)
def check_halved(evidence: Evidence) -> list[Check]:
    """Check each q against twice that q, with powers in proportion."""
    names = {q: find_series(evidence, q, round(-0.7 * q, 4)) for q in (2.0, 1.0, 0.5, 0.25)}
    return [
        _check_less(evidence, f"that at twice the q, q = {q:g}", names[q], names[twice]) for twice, q in pairwise(names)
    ]


@CLAIMS.claim(
    "optimum",
    where=WHERE,
    statement="The best power of each q lies between that of linear attention's exact optimum and -q.",
    quantity="best power / -q, by a parabola as in `power_nope`; linear attention's by its expected error at the same "
    "lengths",
    why="the interval's ends are the account's two models: a weight of 1 / (1 + k^q), and k^-q",
)
def check_optimum(evidence: Evidence) -> list[Check]:
    """Check the best power of each q against linear attention's."""
    longest = cast(NumbersRun, evidence.config(evidence.names[0])).test_length
    return [
        Check(f"q = {q:g}: best power / -q", (best / q).to_numpy(), find_best_share(q, longest), 1.0)
        for q, best in find_best_powers(evidence).items()
    ]


CLAIMS.claim(
    "log",
    where=WHERE,
    statement="If the readout's weight falls as k^-1/8, the map log x errs less than the pair.",
    quantity="error / the pair's under the same seed, geometric mean beyond training",
    why=LESS,
)(
    lambda evidence: [
        _check_less(evidence, "the pair's", find_series(evidence, 0.125, None), find_series(evidence, *PAIR))
    ]
)
