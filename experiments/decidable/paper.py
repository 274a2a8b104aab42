"""Yang et al. (2026) in the form of studies, which are the files of ``conf/study/decidable/``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import Field, PositiveFloat

from experiments.decidable import message
from experiments.decidable.claims import CLAIMS, FAR, NAMES, NEAR, score_languages
from experiments.sequences.bins import bins_of
from experiments.sequences.comparison import format_number
from experiments.sequences.reproduction import join_tables, series_of
from synthlab.analysis.plotting import DataPanel
from synthlab.sequences.automata import random_expression
from synthlab.studies.evidence import describe_left_out, fitting_of
from synthlab.studies.grids import Grid
from synthlab.studies.report import About, NumbersTable
from synthlab.studies.study import Paper, Results, Study
from synthlab.studies.verdicts import ClaimData

ABOUT = About(
    "Random regular languages, in miniature,",
    "Algebraic Decomposition Theory for Transformer Length Generalization",
    "arXiv 2608.13433",
    Path(__file__).with_name("deviations.yaml"),
    "study decidable",
)


class Decidable(Study):
    """The ``languages`` 0, 1, ... of each kind. A run fits if its exact match on training lengths is at least ``fit``.

    ``seconds`` are those of a run on one core, measured. The runs of all kinds together test the ``claims``.
    """

    fixed: dict[str, Any]
    languages: Annotated[int, Field(ge=1)]
    fit: Annotated[float, Field(gt=0, le=1)] = 0.99
    seconds: PositiveFloat
    claims: list[str] = Field(default_factory=list)

    @property
    def together(self):
        return {"claims": self.claims}

    @property
    def grids(self) -> Mapping[str, Grid]:
        numbers = {"task.number": list(range(self.languages))}
        fixed = {"task": "random_language", **self.fixed}
        return {kind: Grid(fixed={**fixed, "task.kind": kind}, vary=[numbers]) for kind in NAMES}

    def place(self, field, key):
        return field

    def seconds_of(self, key):
        return self.seconds

    def evidence(self, plan, records):
        """Return, for each kind, a row for each finished run and range of lengths, the training lengths first."""
        found = {}
        for kind, cells in plan.cells.items():
            rows = []
            for cell in cells:
                number = cell.chosen["task.number"]
                language = {"kind": kind, "number": number, "expression": random_expression(kind, number)}
                rows.append(bins_of(series_of(cell, records), self.fit).assign(**language))
            found[kind] = join_tables(rows)
        self.check_finished(plan, found)
        return found

    def reread(self, runs):
        return {kind: runs[runs["kind"] == kind] for kind in NAMES}

    def claim_data(self, evidence, trained):
        runs = join_tables(list(evidence.values()))
        return [ClaimData(self.claims, runs, fitting_of(runs, sum(trained.values())))]

    def results(self, plan, records, evidence):
        runs = join_tables(list(evidence.values()))
        panels = {}
        for kind, cells in plan.cells.items():
            lost = describe_left_out({cell.label: cell.find_best(records)[1] for cell in cells})
            drawn = evidence[kind].assign(overrides=plan.overrides, left_out=lost)
            panels[kind] = DataPanel(NAMES[kind], message.Curves(), drawn)
        return Results(panels, {"runs": runs}, NumbersTable(message.NUMBERS.says, pd.DataFrame(compare(runs))))


def compare(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the published numbers and ours as rows, one for each kind and range of lengths."""
    rows = []
    for kind, times in ((kind, times) for kind in NAMES if (runs["kind"] == kind).any() for times in (NEAR, FAR)):
        scores = score_languages(runs, kind, times)
        fit = scores.dropna()
        published = message.NUMBERS.kinds[kind]
        place = [last for _, last in message.NUMBERS.ranges].index(times * message.NUMBERS.train_length)
        rows.append(
            {
                "languages": NAMES[kind],
                "times": f"{times - 1} to {times}",
                "published, best": format_number(published.best[place]),
                "published, all": format_number(published.every[place]),
                "ours": format_number(fit.median()),
                "range": f"{format_number(fit.min())} to {format_number(fit.max())}",
                "mean": format_number(fit.mean()),
                "fit": f"{len(fit)} of {len(scores)}",
            }
        )
    return rows


def results(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of ``compare`` for the committed tables in a folder."""
    return compare(message.read_tables(folder / message.RUNS)[message.STUDY])


PAPER = Paper(
    "decidable",
    ABOUT,
    Decidable,
    CLAIMS,
    blocks=lambda folder: {"decidable_results": results(folder)},
    message=message.draw,
)
