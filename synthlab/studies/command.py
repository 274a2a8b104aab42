"""The command of a paper: train missing runs of its studies, plot them, judge its claims, write a report."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, PositiveInt

from synthlab.analysis.plotting import save_panel, save_sheet
from synthlab.errors import InputError
from synthlab.output import print_err, print_out
from synthlab.runs.registry import STRICT, validate
from synthlab.runs.run import Seed
from synthlab.storage.files import write_whole
from synthlab.storage.records import Record
from synthlab.storage.store import Store
from synthlab.studies.overrides import OF_THE_COMMAND, Overrides
from synthlab.studies.report import (
    Picture,
    add_statements,
    left_out_lines,
    verdict_lines,
    verdict_table,
    write_report,
)
from synthlab.studies.rounds import StudyRuns, train_in_rounds
from synthlab.studies.study import Paper, Plan, Seeds
from synthlab.studies.verdicts import Verdict, judge
from synthlab.sweeps.sweep import count_workers
from synthlab.sweeps.trackers import tracker_of
from synthlab.training.devices import find_device


class Settings(BaseModel):
    """The keys of the command itself; ``conf/study.yaml`` and ``conf/common.yaml`` describe each."""

    model_config = STRICT
    workers: PositiveInt | None
    replot: bool
    results: str
    device: str
    save: Any
    tag: Any
    seeds: Seeds | None
    first_seed: Seed
    quick: bool


def train_and_report(paper: Paper, raw: Mapping[str, Any], given: Mapping[str, str], command: str) -> bool:
    """Train, plot and judge the studies in ``raw``, and print the files written; return False if a run diverged.

    Args:
        paper: The paper.
        raw: The config of ``conf/study.yaml``.
        given: The settings as they were typed, by key.
        command: The whole command line, for the report.

    Raises:
        InputError: A setting is invalid.
    """
    own = validate(Settings, {key: raw[key] for key in Settings.model_fields if key in raw}, "")
    if "retry" in given:
        raise InputError(f"{given['retry']}: studies always retry failed runs; leave it out")
    device, workers = find_device(own.device), count_workers(own.workers)
    studies = paper.studies(raw.get("study"))
    for key, edit in given.items():
        if key.startswith("study.") and key.split(".")[1] not in studies:
            raise InputError(f"{edit}: edits none of the studies that are asked for: {', '.join(studies)}")
    of_the_command = {*OF_THE_COMMAND} - {"study"}  # study.NAME.key=value edits a study
    overrides = Overrides(override for key, override in given.items() if key.split(".")[0] not in of_the_command)
    families = [family for study in studies.values() for family in study.families(overrides)]
    overrides.check_all_taken(families)  # before the runs are composed, which takes seconds
    plans = [study.plan(name, overrides, own.seeds, own.first_seed) for name, study in studies.items()]

    store = Store(own.results, None if own.replot else own.save, own.tag)
    tracker = tracker_of(raw["tracker"], store.tag) if "tracker" in raw else None
    runs = StudyRuns(store, own.replot, workers, device, tracker)
    root = store.root / paper.name  # raises for an object store, where only records can be stored
    runs.check([config for plan in plans for config in plan.configs])
    store.make_writable(f"{paper.name}/figures")
    if costs := cost_lines(plans, store, workers):
        print_err(*costs)
    plans, records, undecided = train_in_rounds(plans, runs, paper.claims)

    try:
        files, lines = write_results(paper, plans, records, root, command)
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be written ({error.strerror}); the runs are kept") from None
    lost = left_out_lines(records.values())
    print_out("written:", *(f"  {file}" for file in files), *lost, *lines, *undecided)
    return not lost


def cost_lines(plans: Sequence[Plan], store: Store, workers: int) -> list[str]:
    """Return how many runs are missing and how long they take, in a line; none for studies that do not know."""
    missing = {
        config.id: seconds
        for plan in plans
        for key, cells in plan.cells.items()
        if (seconds := plan.study.seconds_of(key))
        for cell in cells
        for config in cell.configs
        if not store.is_recorded(config)
    }
    hours = sum(missing.values()) / 3600
    line = f"runs to train: {len(missing)}, about {hours:.2g} hours on one core, {hours / workers:.2g} on {workers}"
    return [line] if missing else []


def write_results(
    paper: Paper, plans: Sequence[Plan], records: Mapping[str, Record], root: Path, command: str
) -> tuple[list[Path], list[str]]:
    """Write the results of the studies below ``root``; return the files, and lines for the terminal."""
    pictures: list[Picture] = []
    verdicts: list[Verdict] = []
    lines: list[str] = []
    runs: dict[str, pd.DataFrame] = {}
    folder, files = root / "figures", list[Path]()
    for plan in plans:
        study, name = plan.study, plan.name
        evidence = study.evidence(plan, records)
        results = study.results(plan, records, evidence)
        judged = judge(paper.claims.values(), plan.figure, study.claim_data(evidence, study.count_trained(plan)))
        tables = {**results.tables, **({"claims": add_statements(judged)} if judged else {})}
        written = save_sheet(folder, name, study.title, list(results.panels.values()))
        for key, panel in results.panels.items():
            written += save_panel(folder, f"{name}{paper.between}{key}", panel)
        runs |= {name: tables["runs"]} if "runs" in tables else {}
        for key, table in tables.items():
            written.append(folder / f"{name}_{key}.csv")
            table.to_csv(written[-1], index=False)
        titles = [panel.title for panel in results.panels.values()]
        pictures.append(Picture(name, study.title, titles, written, results.numbers))
        files += written
        verdicts += judged
        lines += [f"{name}: {study.title}", *results.numbers.lines] if results.numbers else []
    verdict_table(verdicts).to_csv(root / "claims.csv", index=False)
    write_report(root / "report.html", pictures, verdicts, list(records.values()), command, paper.about)
    if paper.page:
        files.append(root / "page.html")
        write_whole(files[-1], paper.page(runs))
    return [*files, root / "claims.csv", root / "report.html"], [*lines, *verdict_lines(verdicts)]
