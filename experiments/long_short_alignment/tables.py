"""The committed runs as tables of pages: claims on alignment, and on context extension."""

from pathlib import Path

import pandas as pd

from experiments.committed import CLAIMS, verdicts
from experiments.long_short_alignment.extension_claims import EXTENSIONS
from synthlab.studies.study import Rows


def blocks(folder: Path) -> dict[str, Rows]:
    """Return the rows of each table by the name of its block, from the files of the reference runs."""
    rows = verdicts(pd.read_csv(folder / CLAIMS))
    extensions = {f"long_short_alignment.{id}" for id in EXTENSIONS}
    return {
        "long_short_alignment": [row for row in rows if row["id"] not in extensions],
        "extension": [row for row in rows if row["id"] in extensions],
    }
