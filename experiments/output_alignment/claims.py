"""The paper's claims about its synthetic tasks, each a small function over records that returns its checks."""

from itertools import pairwise

from experiments.output_alignment.checks import (
    LEVEL,
    check_better,
    check_under_constant,
    explodes,
    keeps_rising,
    rise,
)
from synthlab.studies.checks import Check
from synthlab.studies.evidence import Evidence
from synthlab.studies.verdicts import Claims

FLAT = 10.0  # an error that stays within this factor is flat, one that grows by it rises
ENCODINGS = ("nope", "alibi", "rope", "learned")  # the paper's encodings
MAPS = ("identity", "sqrt", "log", "rsqrt")

CLAIMS = Claims[Evidence]()
claim = CLAIMS.claim


def _list_others(evidence: Evidence, *names: str) -> list[str]:
    return [name for name in evidence.names if name not in names]


@claim(
    "1a",
    where="Figure 1a, appendix F",
    statement="On the `mean` task NoPE's error stays flat at about 1e-5, far below always answering 1/2.",
    quantity=(
        "squared error at every length; that of always answering 1/2 is 0.25 / l; largest beyond training / largest "
        "within, where less than 1e-5 counts as 1e-5"
    ),
    why=(
        "3e-5 is 1e-5 to half a decade, a factor 100 under the constant is the two orders that appendix F names; that "
        "an error which stays within a factor 10 is flat is ours; without the 1e-5, the paper's level, the lower its "
        "error within training the worse a model would be"
    ),
    series=ENCODINGS,
    task="mean",
    inputs="bernoulli",
    outrep="identity",
)
def flat_mean(evidence: Evidence) -> list[Check]:
    """Check that NoPE's error on the mean task is small and flat."""
    largest = evidence.errors("nope").max(axis="columns").to_numpy()
    return [
        Check("NoPE: largest error", largest, high=3 * LEVEL, series=("nope",)),
        check_under_constant(evidence, "nope"),
        rise(evidence, "nope", high=FLAT),
    ]


claim(
    "1a_others",
    where="Figure 1a, appendix F",
    statement="On the `mean` task the error of the other encodings rises with the length (ours: tenfold).",
    quantity="largest error beyond training / largest within, where less than 1e-5 counts as 1e-5",
    why="the paper does not say how much the others rise; tenfold is ours, as for what is flat in 1a",
    series=ENCODINGS,
    task="mean",
    inputs="bernoulli",
    outrep="identity",
)(lambda evidence: [rise(evidence, name, low=FLAT) for name in _list_others(evidence, "nope")])

claim(
    "1b",
    where="Figure 1b, section 3",
    statement=("On the `length` task the error explodes beyond training (ours: a hundredfold), with every encoding."),
    quantity="largest error beyond training / within",
    why="a factor 100, two orders of magnitude, is ours",
    series=ENCODINGS,
    task="length",
    outrep="identity",
)(lambda evidence: [explodes(evidence, name) for name in evidence.names])

claim(
    "1b_rises",
    where="Figure 1b, section 3",
    statement="On the `length` task the error keeps rising beyond the training lengths, with every encoding.",
    quantity="mean error over a third of the lengths beyond training / over the next, the greater of the two",
    why=(
        "a ratio under 1 is a rise; that the test loss continues to rise is a trend, which means over thirds show; "
        "steps of a few lengths may be decided by the noise of the test sequences"
    ),
    series=ENCODINGS,
    task="length",
    outrep="identity",
)(lambda evidence: [keeps_rising(evidence, name) for name in evidence.names])

BETTER = "error / that of another map under the same seed, geometric mean over the lengths beyond training"
claim(
    "1c",
    where="Figure 1c, and the reviews, answer Q2 to the third reviewer",
    statement=(
        "On the `length` task with NoPE, training on sqrt(x), log(x), 1/sqrt(x), 1/x or 1/log(x + 1) beats the plain "
        "target x."
    ),
    quantity=BETTER,
    why="a ratio under 1 is better",
    series=MAPS,
    task="length",
    encoding="nope",
)(
    lambda evidence: check_better(
        # the rebuttal's panel repeats the paper's maps
        evidence,
        ["reciprocal", "rlog"] if "rlog" in evidence.names else _list_others(evidence, "identity"),
        ["identity"],
    )
)

claim(
    "1c_best",
    where="Figure 1c, and the reviews, answer Q2 to the third reviewer",
    statement="On the `length` task with NoPE, 1/sqrt(x) errs less than sqrt(x), log(x) and 1/log(x + 1).",
    quantity=BETTER,
    why="a ratio under 1 is better",
    series=("sqrt", "log", "rsqrt"),
    task="length",
    encoding="nope",
)(
    lambda evidence: check_better(
        # the rebuttal's panel repeats the paper's maps
        evidence,
        ["rsqrt"],
        ["rlog"] if "rlog" in evidence.names else _list_others(evidence, "identity", "rsqrt"),
    )
)

claim(
    "1c_far",
    where="Figure 1c",
    statement=(
        "On the `length` task with NoPE trained on 1/sqrt(x), answers are nearly perfect up to a length of about 35 "
        "(ours: within 5 % up to 30)."
    ),
    quantity="horizon, the length up to which the relative error stays under 5 %",
    why="the paper gives no tolerance, and the axis of its figure is not known; 5 % and 30 are ours",
    series=["rsqrt"],
    task="length",
    encoding="nope",
)(lambda evidence: [Check("1/sqrt(x): horizon", evidence.horizons("rsqrt", at_least=35), low=30, series=("rsqrt",))])

claim(
    "1c_reciprocal",
    where="reviews, answer Q2 to the third reviewer",
    statement="On the `length` task with NoPE, training on 1/sqrt(x) errs less than training on 1/x.",
    quantity="error / that of 1/x under the same seed, geometric mean over the lengths beyond training",
    why="a ratio under 1 is better",
    series=("reciprocal", "rsqrt"),
    task="length",
    encoding="nope",
)(lambda evidence: check_better(evidence, ["rsqrt"], ["reciprocal"]))


@claim(
    "3",
    where="Figure 3",
    statement="On the `sum` and `length` tasks, training on longer sequences lowers the error beyond them.",
    quantity=(
        "error / that of the next shorter training length under the same seed, geometric mean over the lengths beyond "
        "both"
    ),
    why="a ratio under 1 is lower",
    encoding="nope",
    outrep="identity",
)
def longer_training(evidence: Evidence) -> list[Check]:
    """Check that longer training reduces the error."""
    names = sorted(evidence.names, key=lambda name: evidence.config(name).train_length)
    task = evidence.config(names[0]).task["name"]
    return [
        check._replace(what=f"{task}, {check.what}")
        for shorter, longer in pairwise(names)
        for check in check_better(evidence, [longer], [shorter])
    ]


claim(
    "4a",
    where="Figure 4a, appendix C",
    statement=("On the `sum` task the error explodes beyond training (ours: a hundredfold), with every encoding."),
    quantity="largest error beyond training / within",
    why="a factor 100, two orders of magnitude, is ours",
    series=ENCODINGS,
    task="sum",
    outrep="identity",
)(lambda evidence: [explodes(evidence, name) for name in evidence.names])


@claim(
    "4b",
    where="Figure 4b, appendix C",
    statement=(
        "On the `sum` task with NoPE, training on a map of the target (OutRep) improves generalization, 1/sqrt(x) "
        "markedly (ours: half the error)."
    ),
    quantity="error / that of the plain target under the same seed, geometric mean over the lengths beyond training",
    why="a ratio under 1 is better; half the error, for 1/sqrt, which the paper recommends, is ours",
    series=MAPS,
    task="sum",
    encoding="nope",
)
def maps_help_sum(evidence: Evidence) -> list[Check]:
    """Check that maps reduce the error on the sum task, 1/sqrt(x) by half."""
    return check_better(evidence, ["sqrt", "log"], ["identity"]) + check_better(
        evidence, ["rsqrt"], ["identity"], high=0.5
    )


claim(
    "5",
    where="Figure 5, appendix F",
    statement="On the `mean` task NoPE still generalizes if the number of ones in a sequence is uniformly distributed.",
    quantity=(
        "squared error / that of always answering 1/2, (l + 2) / (12 l); the largest beyond training / the largest "
        "within, where less than 1e-5 counts as 1e-5"
    ),
    why="as in 1a: two orders under the constant; within a factor 10 (ours) of the error within training or 1e-5",
    series=["nope"],
    task="mean",
    inputs="uniform_count",
    outrep="identity",
)(lambda evidence: [check_under_constant(evidence, "nope"), rise(evidence, "nope", high=FLAT)])
