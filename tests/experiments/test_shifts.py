"""The alignment view on tasks whose answers are tokens, by hand."""

import pandas as pd
import pytest

from experiments.sequences.alignment import shifts
from experiments.sequences.published import RANGE


def runs(cells: dict[tuple[str, str], tuple[float, float]], seeds: int = 1, chance: float = 0.0) -> pd.DataFrame:
    """Runs trained to 4 and tested on 5 to 8, of each task and arm the exact match and the shift beyond training; of
    rope a tenth of the training lengths is wrong."""
    made = []
    for (task, arm), (exact, shift) in cells.items():
        for seed in range(seeds):
            about = {"task": task, "arm": arm, "seed": seed, "series": arm, "train_length": 4, "chance": chance}
            about |= {"sequences": 8, "tokens": 0.5, "target_shift": 0.0, RANGE: 0}
            made.append({**about, "first": 1, "last": 4, "exact": 0.9 if arm == "rope" else 1.0, "shift": 0.0})
            made.append({**about, "first": 5, "last": 8, "exact": exact, "shift": shift})
    return pd.DataFrame(made)


def test_exact_match_is_counted_above_chance():
    table = runs({("bit", "nope"): (0.5, 0.3), ("bit", "rope"): (0.75, 0.0)}, chance=0.5)
    found = shifts(table, "exact").set_index("arm")
    assert found["score"].to_dict() == {"nope": 0.0, "rope": 0.5}
    assert found["shift"].to_dict() == {"nope": 0.3, "rope": 0.0}
    assert found["misfit"].to_dict() == pytest.approx({"nope": 0.0, "rope": 0.1})
