"""A plot of measurements inside trained models: which head the prediction rests on, and how it counts."""

from collections.abc import Sequence
from typing import Literal, cast

import pandas as pd

from experiments.output_alignment.heads import SEQUENCES, Heads, heads_of
from synthlab.analysis.tables import seeds_note
from synthlab.numbers.trained import TrainedNumbers
from synthlab.storage.records import Record
from synthlab.studies.plots import Heat
from synthlab.training.devices import use_one_thread

Measure = Literal["unexplained", "lost", "alone", "line_error"]
OF_WHAT = "fraction of the variance of the mapped targets within training that"
MEANINGS: dict[Measure, str] = {
    "unexplained": f"{OF_WHAT} the output leaves unexplained",
    "lost": f"{OF_WHAT} is lost without the main head",
    "alone": f"{OF_WHAT} is unexplained with the main head alone",
    "line_error": "relative error, at the longest test length, of a line fitted to 1 / (weight of BOS) within training",
}
# Several panels and claims use the same models. A run can be recorded twice, on two machines.
_measured: dict[tuple[str, str], Heads] = {}


class Inside(Heat):
    """Measurements inside each model (``heads``), as a table of ``rows`` and ``columns``.

    These are two settings of the panel's grid. A model is opened from its record: with ``save=weights`` it is not
    trained again.
    """

    value = "value"

    def __init__(self, rows: str, columns: str, measure: Measure):
        super().__init__(rows, columns)
        self.measure: Measure = measure
        self.measures = MEANINGS[measure]

    def numbers(self, records):
        finished = [record for record in records if record.diverged_at is None]
        return pd.DataFrame(
            {
                "id": [record.config.id for record in finished],
                "value": measure_heads(finished, self.measure),
                "train_length": [record.config.train_length for record in finished],
                "test_length": [record.config.test_length for record in finished],
            }
        )

    def find_greatest(self, drawn):
        return 1.0

    def text(self, value, drawn):
        return f"{value:.2f}" if 0.005 <= abs(value) < 100 else f"{value:.0e}"

    def note(self, drawn):
        return f"{self.measures}; {seeds_note(drawn)}; {SEQUENCES} sequences of each length"


def measure_heads(records: Sequence[Record], measure: Measure) -> list[float]:
    """Return a number for each finished run, from its trained model.

    A record that was read again from a table of runs has the number in its ``outputs``.
    """
    found = []
    for record in records:
        if record.outputs is not None and measure in record.outputs:
            found.append(record.outputs[measure].item())
            continue
        key = record.config.id, str(record.environment)
        if key not in _measured:
            with use_one_thread():  # a second thread costs small models more than it gains
                _measured[key] = heads_of(cast(TrainedNumbers, record.model()))
        found.append(getattr(_measured[key], measure))
    return found
