"""What predicts which failure beyond the training length: the table."""

from dataclasses import replace

import pandas as pd
import pytest

from experiments.long_short_alignment.run_table import errors
from support.configs import small
from synthlab.training.execution import execute


def test_errors_are_means_over_depths():
    record = execute(small("task=tracking", "evaluation.depths=[0,1]", "evaluation.lengths=[1,4]"))
    shares = {"accuracy@8@0": 0.5, "accuracy@8@1": 1.0, "accuracy@32@0": 0.25, "accuracy@32@1": 0.25, "needle@8@0": 1.0}
    shares |= {"tracking@80@0": 0.1, "tracking@32@1": 0.3, "tracking_loss@8@0": 7.0, "needle@8@1": 0.0}
    found = errors(replace(record, outputs=pd.DataFrame([shares])))
    wanted = {"recall_error_1x": 0.25, "recall_error_4x": 0.75, "needle_error_1x": 0.5, "tracking_error_4x": 0.7}
    assert found == pytest.approx(wanted)
