"""What predicts which failure beyond the training length: the table, its maps, and the claims."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from experiments.long_short_alignment.claims import CLAIMS
from experiments.long_short_alignment.correlation_claims import OUTCOMES
from experiments.long_short_alignment.predictors import Predictors
from experiments.long_short_alignment.run_table import errors
from support.configs import small
from synthlab.studies.verdicts import Grounds, judge
from synthlab.training.execution import execute


def models(settings: int = 8) -> pd.DataFrame:
    """Models in several settings: recall beyond training follows the misalignment, tracking the loss within, and the
    loss beyond neither."""
    generator = np.random.default_rng(0)
    number = settings * 6
    sce, loss, other = generator.normal(size=(3, number))
    rows = pd.DataFrame({"sce": sce, "excess": -sce, "loss_1x": loss, "loss_4x": other})
    near = 0.1 * generator.normal(size=number)
    rows = rows.assign(recall_error_4x=sce + near, needle_error_4x=sce - near, tracking_error_4x=loss + near)
    named = rows.assign(
        setting=np.repeat(np.arange(settings), 6).astype(str), encoding=np.resize(list("abcdef"), number)
    )
    return named.assign(seed=0, variant=named["encoding"], arm=named["encoding"])


def test_errors_are_means_over_depths():
    record = execute(small("task=tracking", "evaluation.depths=[0,1]", "evaluation.lengths=[1,4]"))
    shares = {"accuracy@8@0": 0.5, "accuracy@8@1": 1.0, "accuracy@32@0": 0.25, "accuracy@32@1": 0.25, "needle@8@0": 1.0}
    shares |= {"tracking@80@0": 0.1, "tracking@32@1": 0.3, "tracking_loss@8@0": 7.0, "needle@8@1": 0.0}
    found = errors(replace(record, outputs=pd.DataFrame([shares])))
    wanted = {"recall_error_1x": 0.25, "recall_error_4x": 0.75, "needle_error_1x": 0.5, "tracking_error_4x": 0.7}
    assert found == pytest.approx(wanted)


def test_claims_by_hand():
    rows = Predictors([outcome for outcome, _ in OUTCOMES.values()], ["loss_1x"], 0.2).restrict(models())
    verdicts = {v.claim.id: v for v in judge(CLAIMS.values(), "by hand", [Grounds(list(OUTCOMES), rows)])}
    answers = {id: [check.answer for check in verdict.checks] for id, verdict in verdicts.items()}
    # Over settings and over encodings: of misalignment, then of its part beyond entropy, which is its opposite here.
    assert answers["P2"] == answers["P3"] == ["holds", "holds", "fails", "fails"]
    assert answers["P4"] == ["fails"] * 4
    assert "undecided" in answers["P1"]
    assert str(verdicts["P2"].checks[0].witnesses) == "8 settings"
