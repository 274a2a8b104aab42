"""Studies of language models: one grid of models, and an analysis that plots and tabulates them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import pandas as pd
from pydantic import PositiveFloat, model_validator

from experiments.long_short_alignment.analyses import Analysis, ByContext, ByDepth, Compute, Effect, Plain
from experiments.long_short_alignment.drawn_encodings.analysis import OnNumbers, OnTexts
from experiments.long_short_alignment.drawn_encodings.draw import draw_encodings
from experiments.long_short_alignment.predictions import Correlations, Scalar
from experiments.long_short_alignment.predictors import Predictors
from experiments.long_short_alignment.run_table import Named, read_variant, summarize_runs
from synthlab.analysis.series import Settings
from synthlab.errors import InputError
from synthlab.runs.registry import Registry
from synthlab.runs.run import Run
from synthlab.storage.records import Record
from synthlab.studies.evidence import NoEvidence, describe_left_out
from synthlab.studies.grids import Cell, Grid, NameOrMember
from synthlab.studies.report import NumbersTable
from synthlab.studies.study import Plan, Results, Seeds, Study

OF_MODELS = {"correlations": Correlations, "predictors": Predictors, "scalar": Scalar}
OF_ARMS = {"effect": Effect, "compute": Compute, "by_context": ByContext, "by_depth": ByDepth, "plain": Plain}
OF_ENCODINGS = {"texts": OnTexts, "numbers": OnNumbers}
ANALYSES = Registry("analysis", Analysis, {**OF_MODELS, **OF_ARMS, **OF_ENCODINGS})


class AlignmentStudy(Grid, Study):
    """A grid of models whose runs make one table, and the ``analysis`` of that table.

    The analysis defines the meaning of ``fit``. ``drawn`` has the arguments of ``draw_encodings``, whose encodings are
    the arms.
    """

    task: ClassVar[str] = "text"
    seeds: Seeds = 3
    fit: PositiveFloat | None = None
    drawn: dict[str, int] | None = None
    analysis: Annotated[dict[str, Any], NameOrMember]

    @model_validator(mode="before")
    @classmethod
    def _draw_arms(cls, given: dict[str, Any]) -> dict[str, Any]:
        return given | {"arms": draw_encodings(**given["drawn"])} if given.get("drawn") else given

    @property
    def grids(self) -> Mapping[str, Grid]:
        return {"": self}

    @property
    def run_class(self) -> type[Run] | None:
        return self._analysis.run_class

    @property
    def _analysis(self) -> type[Analysis]:
        return ANALYSES.find(self.analysis["name"])

    def check(self, field):
        ANALYSES.build(self.analysis, field=f"{field}.analysis")

    def check_cells(self, field, key, cells):
        for cell in cells:
            for config in cell.configs:
                self._analysis.check(field, config)

    def evidence(self, plan, records):
        mine, analysis = _select_finished(plan, records), ANALYSES.build(self.analysis)
        runs = analysis.runs(mine, self._names(plan)) if mine else pd.DataFrame()
        self.check_finished(plan, {"": runs})
        return {"": runs if self.fit is None else runs.assign(fit=analysis.fits(runs, mine, self.fit))}

    def claim_data(self, evidence, trained):
        [found] = super().claim_data(evidence, trained)
        if found.fitting is None:
            return [found]
        alone = ANALYSES.build(self.analysis).restrict(found.fitting.given)
        return [found._replace(fitting=found.fitting._replace(given=alone))]

    def reread(self, runs):
        return {"": runs}

    def results(self, plan, records, evidence):
        analysis: Analysis = ANALYSES.build(self.analysis)
        names, table, mine = self._names(plan), evidence[""], _select_finished(plan, records)
        try:
            panels = analysis.panels(table, mine)
        except NoEvidence as error:
            raise InputError(f"study.{plan.name}: {error}; lower protocol.lr") from None
        best = [cell.find_best(records) for cell in plan.cells[""]]
        lost = describe_left_out({_series(names[runs[0].config.id]): runs for _, runs in best})
        series = self._describe_series(table)
        for key, panel in panels.items():
            shown = {name: series[name] for name in panel.data.get("series", pd.Series()).unique()}
            panels[key] = replace(panel, series=shown)
            if self.tune:
                panel.data["tuned"] = "; ".join(
                    f"{names[runs[0].config.id].group}: {setting}" for setting, runs in best
                )
            panel.data["overrides"] = plan.overrides  # a modified study is marked as such on its figures
            panel.data["left_out"] = lost
        tables = {"runs": table, **analysis.tables(table, mine)}
        has_arms = "arm" in table
        return Results(panels, tables, NumbersTable("Medians over seeds.", summarize_runs(table)) if has_arms else None)

    def _describe_series(self, table: pd.DataFrame) -> dict[str, Settings]:
        """Return the settings of whatever may be a series of a panel: arms, variants, both, encodings and tasks."""
        found: dict[str, Settings] = {name: {"task": name} for name in table.get("task", ())}
        names = table[["arm", "variant"]].drop_duplicates() if "arm" in table else pd.DataFrame()
        for arm, variant in names.itertuples(index=False):
            model, own = read_variant(variant), {"name": arm} | self.arms[arm]
            if own.get("extension") == "none":
                own["encoding"] = self.fixed["encoding"]
            found |= {arm: {"arm": own}, variant: model, f"{arm}, {variant}": {"arm": own, **model}}
            found[model["encoding"]] = {"encoding": model["encoding"]}
        return found

    def _names(self, plan: Plan) -> dict[str, Named]:
        """Return the names of each run, by identity."""
        return {run.id: self.name_run(cell, run) for cell in plan.cells[""] for run in cell.configs}

    def name_run(self, cell: Cell, config: Run) -> Named:
        """Return the names of a run of a cell."""
        training = f"{cell.arm} {_describe_choice(config.encoding['name'], cell.chosen)}".strip()
        extended = not any("extension" in arm for arm in self.arms.values())
        return Named(cell.arm, cell.arm == next(iter(self.arms)), variant(config, cell.chosen, extended), training)


def _select_finished(plan: Plan, records: Mapping[str, Record]) -> list[Record]:
    """Return the runs that did not diverge; for each cell, those of its best setting."""
    best = [record for cell in plan.cells[""] for record in cell.find_best(records)[1]]
    return [record for record in best if record.diverged_at is None]


def _series(named: Named) -> str:
    """Return the name of a panel's series: the arm, if there are several, and the model."""
    return ", ".join(filter(None, (named.arm, named.variant)))


def variant(config: Run, chosen: Mapping[str, Any], extended: bool = True) -> str:
    """Return the name of a model: its extension or encoding, its fine-tuning, and other ``chosen`` settings.

    If not ``extended``, its encoding is used, for arms that differ in the extension.
    """
    extension, finetune = (getattr(config, field, None) for field in ("extension", "finetune"))
    name = ((extended and extension) or config.encoding)["name"]
    if finetune is not None and finetune.steps:
        name += f", fine-tuned{f' {finetune.steps} steps' if 'finetune.steps' in chosen else ''}"
    return _describe_choice(name, chosen)


def _describe_choice(name: str, chosen: Mapping[str, Any]) -> str:
    """Return ``name``, and those of the settings ``chosen`` that it does not imply."""
    beside = {key: value for key, value in chosen.items() if key not in ("encoding", "extension", "finetune.steps")}
    return "".join([name, *(f", {key}={value}" for key, value in beside.items())])
