"""Claims about maps of the target that are learned, or selected without longer sequences."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from experiments.output_alignment.checks import check_better
from experiments.output_alignment.choosing import LEARNED, Trial, trials_of
from synthlab.studies.checks import Check
from synthlab.studies.evidence import Evidence, NoEvidence
from synthlab.studies.verdicts import Claims

CLAIMS = Claims[Evidence]()
TWICE = float(np.log10(2))  # in decades
OURS = "our question: which map to take for a task without long sequences"
REGRET = (
    "decades: log10 of the error at five times the training length / that of the best fixed map (by the median over "
    "the other seeds), same seed"
)
WHY_TWICE = "at most twice the error of the best fixed map is our choice"


def _check_trials(
    evidence: Evidence, measure: Callable[[Trial], tuple[str, np.ndarray]], high: float, always: str = ""
) -> list[Check]:
    """Return a check for each trial of the runs.

    Trials are left out where the map ``always``, which a rule takes in each, is the best fixed map of every seed: it
    would be compared with itself.
    """
    trials = [trial for trial in _find_trials(evidence) if not trial.errors.empty]
    if not trials:
        raise NoEvidence("no seed has every map")
    checks = []
    for trial in trials:
        if set(trial.best) != {always}:
            what, values = measure(trial)
            checks.append(Check(f"{trial.task}, {trial.name}: {what}", values, high=high))
    return checks


@lru_cache(maxsize=8)  # several claims use the same runs
def _find_trials(evidence: Evidence) -> list[Trial]:
    return trials_of(record for runs in evidence.records.values() for record in runs)


def _held_out(trial: Trial) -> str:
    rules = [rule for rule in trial.scores if rule.startswith("held out")]
    if not rules:
        raise NoEvidence(f"{trial.task}, {trial.name}: no runs on shorter training lengths")
    return rules[0]


def _regret(rule: str | None) -> Callable[[Trial], tuple[str, np.ndarray]]:
    def measure(trial: Trial) -> tuple[str, np.ndarray]:
        name = rule or _held_out(trial)
        return f"regret of {name}", trial.regrets()[name].to_numpy()

    return measure


def _against_plain(trial: Trial) -> tuple[str, np.ndarray]:
    regrets = trial.regrets()
    return "held out less plain", (regrets[_held_out(trial)] - regrets["always identity"]).to_numpy()


def _register(
    id: str, statement: str, why: str, check: Callable[[Evidence], list[Check]], quantity: str = REGRET
) -> None:
    CLAIMS.claim(id, where=OURS, statement=statement, quantity=quantity, why=why)(check)


_register(
    "chosen",
    "The map with the least error at held-out training lengths (the longest fifth) does as well as a task's best map.",
    WHY_TWICE,
    lambda evidence: _check_trials(evidence, _regret(None), high=TWICE),
)
_register(
    "chosen_plain",
    "A map chosen by held-out training lengths errs less than the plain target.",
    "any less counts",
    lambda evidence: _check_trials(evidence, _against_plain, high=0.0),
    "difference of two regrets, decades",
)
_register(
    "chosen_reciprocal",
    "Where 1/x is not a task's best map itself, it does as well as the best.",
    f"{WHY_TWICE}; where 1/x is the best map under every seed, it would be compared with itself",
    lambda evidence: _check_trials(evidence, _regret("always reciprocal"), high=TWICE, always="reciprocal"),
)
_register(
    "chosen_theory",
    "Taking the map on which, by theory, optimal linear attention errs least does as well as a task's best map.",
    WHY_TWICE,
    lambda evidence: _check_trials(evidence, _regret("optimum of linear attention"), high=TWICE),
)


@CLAIMS.claim(
    "learned_plain",
    where="our question: can a model learn its map?",
    statement="A learned map errs less beyond training than the plain target.",
    quantity="error / that of the plain target under the same seed, geometric mean over the lengths beyond training",
    why="a ratio under 1 is better",
    series=("identity", *LEARNED),
)
def learned_helps(evidence: Evidence) -> list[Check]:
    """Check that learned maps have a smaller error than the plain target."""
    return check_better(evidence, LEARNED, ["identity"])


@CLAIMS.claim(
    "learned_best",
    where="our question: can a model learn its map?",
    statement="A learned map does as well beyond training as the fixed map 1/x.",
    quantity="error / that of 1/x under the same seed, geometric mean over the lengths beyond training",
    why="at most twice the error is our choice",
    series=("reciprocal", *LEARNED),
)
def learned_as_well(evidence: Evidence) -> list[Check]:
    """Check that learned maps have at most twice the error of 1/x."""
    return check_better(evidence, LEARNED, ["reciprocal"], high=2.0)


@CLAIMS.claim(
    "learned_exponent",
    where="our question: can a model learn its map?",
    statement="A power that is learned by maximum likelihood ends below -1/2, wherever between -1 and 1 it starts.",
    quantity="learned exponent after training",
    why=(
        "of fixed powers the best for counting are from -1.25 to -3/4 (powers); were the exponent to stay near its "
        "start, training lengths would not tell"
    ),
)
def exponent_is_found(evidence: Evidence) -> list[Check]:
    """Check that the learned exponent is below -0.5."""
    return [
        Check(
            f"{evidence.config(name).task['name']}, {name}: exponent",
            np.array([record.training["exponent"].iloc[-1] for record in evidence.records[name]]),
            high=-0.5,
            series=(name,),
            centre=None,
        )
        for name in evidence.names
    ]
