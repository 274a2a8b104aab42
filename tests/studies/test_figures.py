"""Figures: what a file of theirs may say, and what is drawn of a panel."""

import re

import pytest

from experiments.output_alignment.paper import PAPER
from support.records import record
from synthlab.errors import InputError
from synthlab.studies.figures import Figure
from synthlab.studies.overrides import Overrides

SUM = {"title": "x", "vary": {"task": ["sum"]}}


def figure(panel: object) -> Figure:
    found = PAPER.studies({"mine": {"title": "mine", "panels": {"a": panel}}})["mine"]
    assert isinstance(found, Figure)
    return found


@pytest.mark.parametrize(
    ("plot", "message"),
    [
        ({"name": "against", "x": "nokey", "lengths": [5]}, "x=nokey: must be a setting"),
        ({"name": "against", "x": "encoding", "lengths": [60]}, "lengths=[60]: must be at most"),
        ({"name": "heat", "rows": "encoding", "columns": "outrep"}, "rows=encoding columns=outrep: must be the two"),
        ({"name": "powers", "lengths": [5]}, "vary.encoding: a plot of powers can vary only"),
        ({"name": "spread", "lengths": [5]}, "vary: must cross"),
    ],
)
def test_a_plot_that_does_not_fit_the_grid_is_refused(plot, message):
    panel = {"title": "x", "vary": {"encoding": ["nope", "rope"]}, "plot": plot}
    with pytest.raises(InputError, match=re.escape(f"study.mine.panels.a.plot.{message}")):
        figure(panel).plan("mine", Overrides(), seeds=1)


def test_the_arms_of_a_panel_are_series_of_their_own():
    mine = figure(SUM | {"arms": {"short": {"train_length": 5}, "long": {"train_length": 6}}})
    plan = mine.plan("mine", Overrides(), seeds=1)
    records = {config.id: record(0) for config in plan.configs}
    drawn = mine.results(plan, records, mine.evidence(plan, records)).panels["a"].data
    assert drawn["series"].unique().tolist() == ["arm=short task=sum", "arm=long task=sum"]
