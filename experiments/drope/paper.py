"""The papers in the form of studies, which are the files of ``conf/study/drope/``."""

from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from experiments.committed_verdicts import RUNS, read_tables
from experiments.drope import message
from experiments.drope.claims import CLAIMS
from experiments.long_short_alignment.studies import AlignmentStudy
from synthlab.studies.report import About
from synthlab.studies.study import Paper, Rows

HERE = Path(__file__).parent
ABOUT = About(
    "Positions dropped, interleaved or extended, in miniature,",
    "Extending the Context of Pretrained LLMs by Dropping Their Positional Embeddings",
    "arXiv 2512.12167, 2501.18795 and 2504.08719",
    HERE / "deviations.yaml",
    "study drope",
)


def results(folder: Path) -> Rows:
    """Return a row for each arm: the published number, if there is one, and the median loss by length."""
    runs = read_tables(folder / RUNS)["text"]
    published: Any = OmegaConf.load(HERE / "published.yaml")
    medians = runs.groupby("arm", sort=False)[[*message.REACHES]].median()
    return [
        {
            "positions": arm,
            "published, %": published.multikey_2x.get(arm, "-"),
            **{message.REACHES[str(name)].label: f"{value:.3f}" for name, value in row.items()},
        }
        for arm, row in medians.iterrows()
    ]


PAPER = Paper(
    "drope",
    ABOUT,
    AlignmentStudy,
    CLAIMS,
    blocks=lambda folder: {"drope_results": results(folder)},
    message=message.draw,
)
