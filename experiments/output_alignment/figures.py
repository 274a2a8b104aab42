"""The paper's figures: errors of models of number tasks, and measurements inside these models."""

from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args

import numpy as np
import pandas as pd

from experiments.output_alignment.inside import Inside, Measure, measure_heads
from experiments.output_alignment.map_plots import Learned, Powers, ReadoutPowers
from experiments.output_alignment.regrets import Regrets
from experiments.output_alignment.spread import Spread
from synthlab.numbers.evaluation import constant_loss
from synthlab.numbers.run import NumbersRun, horizon
from synthlab.runs.registry import Registry
from synthlab.runs.run import Run
from synthlab.storage.records import Record
from synthlab.studies.evidence import Evidence, final_loss
from synthlab.studies.figures import Figure
from synthlab.studies.overrides import Overrides
from synthlab.studies.plots import PLOTS, Plot

TOLERANCES = (0.05, 0.1, 0.2)  # relative errors of the horizons in a table of runs


class NumberFigure(Figure):
    """A figure whose runs fit if their training loss is at most ``fit`` times that of the best constant prediction."""

    plots = Registry(
        "plot",
        Plot,
        {
            **PLOTS,
            "inside": Inside,
            "learned": Learned,
            "powers": Powers,
            "readout": ReadoutPowers,
            "regrets": Regrets,
            "spread": Spread,
        },
    )

    def level(self, config):
        return self.fit and self.fit * constant_loss(cast(NumbersRun, config))  # these tasks have no other kind of runs

    def results(self, plan, records, evidence):
        judged = {config.id for key in self._judged for cell in plan.cells[key] for config in cell.configs}
        finished = [record for id, record in records.items() if id in judged and record.diverged_at is None]
        runs, plots = tabulate_runs(finished), [self.panels[key].plot for key in self._judged]
        # What claims on the inside of models are judged on.
        for measure in dict.fromkeys(plot["measure"] for plot in plots if plot["name"] == "inside"):
            runs[measure] = np.array(measure_heads(finished, measure)).round(4)
        return super().results(plan, records, evidence)._replace(tables={} if runs.empty else {"runs": runs})

    def reread(self, runs):
        rows, first = {row["id"]: row for row in runs.to_dict("records")}, int(runs["seed"].min())
        plan, cells = self.plan("", Overrides(), int(runs["seed"].max()) + 1 - first, first), {}
        for key in self._judged:
            recorded = [
                {name: [config for config in configs if config.id in rows] for name, configs in cell.candidates.items()}
                for cell in plan.cells[key]
            ]
            cells[key] = [cell._replace(candidates=each) for cell, each in zip(plan.cells[key], recorded, strict=True)]
        configs = plan._replace(cells=cells).configs
        records = {config.id: reread_record(config, rows[config.id]) for config in configs}
        return {key: Evidence({}) for key in self.panels} | self.evidence(plan._replace(cells=cells), records)

    @property
    def _judged(self) -> list[str]:
        """The panels that have claims."""
        return [key for key, panel in self.panels.items() if panel.claims]


def tabulate_runs(records: Iterable[Record]) -> pd.DataFrame:
    """Return a row for each run: its settings that differ between runs, its seconds, and what claims are judged on.

    That is the final training loss, what a map has learned, the mean squared error at each length (``mse@7``), all to
    four digits, and the horizon at each of ``TOLERANCES``.
    """
    settings, measured = [], []
    for record in records:
        metrics = record.metrics.set_index("length")
        numbers = {**record.training.iloc[-1].drop("step"), "loss": final_loss(record.training)}
        numbers |= {f"mse@{length}": error for length, error in metrics["mse"].items()}
        settings.append(record.settings())
        measured.append(
            {"id": record.config.id, "seconds": round(record.seconds, 2)}
            | {f"horizon@{each}": horizon([*metrics["relative_error"]], each) for each in TOLERANCES}
            | {name: float(f"{value:.4g}") for name, value in numbers.items()}
        )
    flat = pd.DataFrame(settings).drop(columns=[*Run.SEEDS[1:]], errors="ignore")
    return flat.loc[:, (flat.columns == "seed") | (flat.astype(str).nunique() > 1)].join(pd.DataFrame(measured))


def reread_record(config: Run, row: Mapping[Any, Any]) -> Record:
    """Return the record of a run from its ``row`` of ``tabulate_runs``.

    Its relative errors are rounded down to 0 or one of ``TOLERANCES``, which gives the same horizons.
    """
    lengths = np.arange(1, config.test_length + 1)
    passed = sum((lengths > row[f"horizon@{each}"]).astype(int) for each in TOLERANCES)  # how many tolerances
    errors = {
        "mse": [row[f"mse@{length}"] for length in lengths],
        "relative_error": np.array([0.0, *TOLERANCES])[passed],
    }
    learned = {name: [row[name]] for name in ("loss", "exponent") if name in row}
    inside = {name: [row[name]] for name in get_args(Measure) if name in row}
    return Record(
        config,
        pd.DataFrame({"length": lengths, **errors}),
        pd.DataFrame({"step": [config.steps], **learned}),
        outputs=pd.DataFrame(inside) if inside else None,
    )
