"""Claims about maps of the target that are learned."""

import numpy as np

from experiments.output_alignment.checks import check_better
from experiments.output_alignment.choosing import LEARNED
from synthlab.studies.checks import Check
from synthlab.studies.evidence import Evidence
from synthlab.studies.verdicts import Claims

CLAIMS = Claims[Evidence]()


@CLAIMS.claim(
    "learned_best",
    where="our question: can a model learn its map?",
    statement="A learned map does as well beyond training as 1/x (ours: at most twice the error).",
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
        )
        for name in evidence.names
    ]
