"""What a study leaves behind: a figure, tables, verdicts on claims, and a few lines for the terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from experiments.long_short_alignment.analyses import ANALYSES, Analysis
from experiments.long_short_alignment.claims import judged
from experiments.long_short_alignment.run_table import Planned
from experiments.long_short_alignment.studies import Study
from synthlab.config.base import Config
from synthlab.errors import InputError
from synthlab.storage.records import Record
from synthlab.storage.store import Store
from synthlab.studies.figure_files import Drawn, Folder
from synthlab.studies.report import About, Picture, verdict_table
from synthlab.studies.verdicts import NoEvidence, Verdict

ABOUT = About("The experiments on language models", Path(__file__).parent / "deviations.yaml", "protocol=language")
SHOWN = ("loss_1x", "loss_2x", "loss_4x", "perfect_loss_4x", "sce", "excess", "excess_loss_4x")


class Found(NamedTuple):
    """What came out of one study."""

    picture: Picture
    verdicts: list[Verdict]
    lines: list[str]


class Results:
    """The folders of records and of what is made of them, below ``root``. With ``redraw`` nothing is measured anew."""

    def __init__(self, root: str, redraw: bool = False):
        self.root, self.redraw = root, redraw
        store = Store(f"{root}/language")
        path = store.root / "figures"  # refused for an object store, where only records can lie
        store.make_writable("figures")
        self.folder = Folder(path)

    def store(self, kind: type[Config]) -> Store:
        """The records of one kind of runs."""
        return Store(f"{self.root}/{kind.folder}")

    def write(self, name: str, study: Study, planned: Planned, records: Mapping[str, Record]) -> Found:
        """Analyse, draw, judge and write one study. Raises InputError where nothing is left to analyse, or what is
        written cannot be."""
        analysis: Analysis = ANALYSES.build(study.analysis)
        mine = [records[config.id] for config in planned.configs if records[config.id].diverged_at is None]
        if not mine:
            raise InputError(f"study.{name}: every run diverged; lower protocol.lr")
        runs = analysis.runs(mine, planned)
        try:
            panels = analysis.panels(runs, mine)
        except NoEvidence as error:
            raise InputError(f"study.{name}: {error}; lower protocol.lr") from None
        for panel in panels.values():
            panel.data["overrides"] = planned.overrides  # what is not the study as it stands says so on its figures
        figure = ", ".join(filter(None, (study.title, planned.overrides)))
        verdicts = judged(name, figure, runs)
        tables = {"runs": runs, **analysis.tables(runs, mine), **self._timed(name, analysis, mine)}
        if verdicts:
            says = {verdict.claim.id: verdict.claim.statement for verdict in verdicts}
            tables["claims"] = verdict_table(verdicts).assign(says=lambda checks: checks["claim"].map(says))
        files = self._written(name, study, panels, tables)
        picture = Picture(name, study.title, [panel.title for panel in panels.values()], files)
        return Found(picture, verdicts, [f"{name}: {study.title}", *summary_lines(runs), *analysis.lines(tables)])

    def _timed(self, name: str, analysis: Analysis, records: Sequence[Record]) -> dict[str, pd.DataFrame]:
        """What the analysis times; from its files where it is only drawn again."""
        kept = {key: self.folder.path / f"{name}_{key}.csv" for key in analysis.timing}
        if self.redraw and all(path.exists() for path in kept.values()):
            return {key: pd.read_csv(path) for key, path in kept.items()}
        return analysis.timed(records)

    def _written(
        self, name: str, study: Study, panels: Mapping[str, Drawn], tables: Mapping[str, pd.DataFrame]
    ) -> list[Path]:
        try:
            files = self.folder.save_sheet(name, study.title, panels)
            for key, panel in panels.items():
                files += self.folder.save_panel(f"{name}_{key}", panel)
            for key, content in tables.items():
                files.append(self.folder.path / f"{name}_{key}.csv")
                content.to_csv(files[-1], index=False)
        except OSError as error:
            raise InputError(f"{error.filename}: cannot be written ({error.strerror}); the runs are kept") from None
        return files


def summary_lines(runs: pd.DataFrame) -> list[str]:
    """The medians over seeds of a few quantities, a row for each arm and model."""
    columns = [name for name in SHOWN if name in runs]
    if not columns:
        return []
    medians = runs.groupby(["arm", "variant"], sort=False)[columns].median().reset_index()
    return medians.to_string(index=False, float_format=lambda value: f"{value:.4g}").splitlines()
