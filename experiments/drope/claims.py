"""The papers' claims on dropping and interleaving positions, each tested in miniature.

Arms are named as in ``conf/study/drope/default.yaml``. What would refute them: (P1) DroPE no better at eight windows
than PI, NTK or YaRN; (P2) a loss within the window above that of RoPE by more than the margin; (P3)
interleaved layers no better at eight windows than RoPE or than NoPE.
"""

import pandas as pd

from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.verdicts import Claims

CLAIMS = Claims[pd.DataFrame]()
FREQUENCIES = ("PI", "NTK", "YaRN")
MARGIN = 0.01  # nats
WHAT = {"loss_1x": "loss within the window, nats", "loss_8x": "loss after 7 to 8 windows, nats"}
ANY = "the papers give no threshold, so any difference counts"


def difference(runs: pd.DataFrame, arm: str, other: str, quantity: str, high: float = 0.0) -> Check:
    """Check that a ``quantity`` under ``arm`` less that under ``other``, seed by seed, is below ``high``."""
    table = runs.pivot(index="seed", columns="arm", values=quantity)
    if not {arm, other} <= set(table):
        raise NoEvidence(f"no finished runs of {arm} and {other}")
    return Check(f"{arm} less {other}: {WHAT[quantity]}", (table[arm] - table[other]).to_numpy(), high=high)


CLAIMS.claim(
    "P1",
    where="Gelberg et al., 2025, tables 1 and 10",
    statement="DroPE has a lower loss on long texts than PI, NTK and YaRN, which train no second time.",
    quantity="loss after 7 to 8 windows less that of the other, the same seed",
    why=ANY,
)(lambda runs: [difference(runs, "DroPE", other, "loss_8x") for other in FREQUENCIES])

CLAIMS.claim(
    "P2",
    where="Gelberg et al., 2025, table 6",
    statement="Within the window DroPE costs nothing: at equal steps its loss is RoPE's (ours: to 0.01 nats).",
    quantity="loss within the window less that of RoPE, the same seed",
    why="the published perplexities, 21.73 and 21.72, differ by 0.0005 nats; the margin is ours",
)(lambda runs: [difference(runs, "DroPE", "RoPE", "loss_1x", MARGIN)])

CLAIMS.claim(
    "P3",
    where="Yang et al., 2025, abstract; Puvvada et al., 2025, abstract",
    statement="NoPE layers interleaved with windows of RoPE have a lower loss on long texts than RoPE, or NoPE, alone.",
    quantity="loss after 7 to 8 windows less that of the other, the same seed",
    why=ANY,
)(lambda runs: [difference(runs, "interleaved, windows", other, "loss_8x") for other in ("RoPE", "NoPE")])
