"""The figures of conf/study/output_alignment/, from the command line to their files."""

import re

import numpy as np
import pandas as pd
import pytest

from experiments.output_alignment import inside
from experiments.output_alignment.heads import Heads
from experiments.output_alignment.paper import PAPER
from support.figures import FIGURES, studies
from support.hasty import hastily
from synthlab.analysis.plotting import DataPanel, save_sheet
from synthlab.storage.records import Record
from synthlab.storage.store import Store
from synthlab.studies.overrides import Overrides
from synthlab.studies.plots import Series


@pytest.fixture
def hasty(monkeypatch):
    """Every run is trained for two steps on small batches and tested on few sequences, whatever its config says."""

    def few_sequences(config, quick):
        quick["evaluation"] |= {"sequences": 2}

    def open_model(record):  # to be trained in full it would take minutes
        return record

    def heads_of(record):
        return Heads(0, 0, *np.random.default_rng(int(record.config.id, 16)).random(4))

    monkeypatch.setattr("synthlab.studies.rounds.ensure", hastily(few_sequences))
    monkeypatch.setattr(Record, "model", open_model)
    monkeypatch.setattr(inside, "heads_of", heads_of)
    monkeypatch.setattr(inside, "_measured", {})


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_again_from_its_csvs(invoke, hasty, tmp_path, name):
    outcome = invoke("experiments", f"output_alignment/{name}", "seeds=1", f"results={tmp_path}")
    assert outcome.status == 0, outcome.err
    written = re.findall(r"^  (\S+\.\w+)$", outcome.out, re.MULTILINE)
    assert {path.rsplit(".", 1)[1] for path in written} == {"pdf", "png", "csv", "html"}
    drawn = tmp_path / "output_alignment" / "figures"
    store = Store(tmp_path)
    for figure, found in studies(PAPER, name).items():
        plan, panels = found.plan(figure, Overrides(), seeds=1), []
        records = {config.id: store.read(config.id) for config in plan.configs}
        for key, panel in found.panels.items():
            plot, table = found.plots.build(panel.plot), pd.read_csv(drawn / f"{figure}{key}.csv")
            series = plot.settings([Series(cell.settings, cell.find_best(records)[1]) for cell in plan.cells[key]])
            panels.append(DataPanel(panel.title, plot, table, series))
        for path in save_sheet(tmp_path, figure, found.title, panels):
            assert path.read_bytes() == (drawn / path.name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("output_alignment/9", "output_alignment/9: unknown study"),
        ("output_alignment/figure1 seeds=0", "seeds=0: "),
        (f"output_alignment/figure1 first_seed={2**63 - 1} seeds=2", f"first_seed={2**63 - 1}: must be at most"),
        ("output_alignment/figure1 study.quick.fit=3", "study.quick.fit=3: edits none of the studies"),
        ("output_aligment", "output_aligment: unknown paper"),
        ("replot=true output_alignment/figure1 seeds=1", "replot=true: 13 of 13 runs "),
    ],
)
def test_bad_input_is_refused_in_one_line(invoke, quick, tmp_path, arguments, message):
    outcome = invoke("experiments", *quick, *arguments.split())
    assert outcome.status == 2
    assert outcome.err.startswith(f"error: {message}")
    assert len(outcome.err.splitlines()) == 1
    assert not (tmp_path / "runs").exists()
