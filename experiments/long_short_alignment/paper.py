"""Long-Short Alignment in the form of studies: see ``conf/study/``."""

from pathlib import Path

import pandas as pd

from experiments import committed_verdicts
from experiments.long_short_alignment import message
from experiments.long_short_alignment.claims import CLAIMS
from experiments.long_short_alignment.extension_claims import EXTENSIONS
from experiments.long_short_alignment.far_tokens import FAR
from experiments.long_short_alignment.page_tables import make_blocks
from experiments.long_short_alignment.studies import AlignmentStudy
from synthlab.studies.report import About
from synthlab.studies.study import Paper, Rows

ABOUT = About(
    "The experiments on language models",
    "Output Alignment: A Top-down Approach to Length Generalization",
    "arXiv 2506.11769",
    Path(__file__).parent / "deviations.yaml",
    "protocol=language",
)


def blocks(folder: Path) -> dict[str, Rows]:
    """Return the rows of each table by the name of its block, from the files of the reference runs."""
    rows = committed_verdicts.verdicts(pd.read_csv(folder / committed_verdicts.CLAIMS))
    extensions = {f"long_short_alignment.{id}" for id in EXTENSIONS | FAR}
    return {
        "long_short_alignment": [row for row in rows if row["id"] not in extensions],
        "extension": [row for row in rows if row["id"] in extensions],
    } | make_blocks(committed_verdicts.read_tables(folder / committed_verdicts.RUNS))


PAPER = Paper("long_short_alignment", ABOUT, AlignmentStudy, CLAIMS, blocks=blocks, message=message.draw)
