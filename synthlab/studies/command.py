"""The command of a paper: train missing runs of its studies, plot them, judge its claims, write a report."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, PositiveInt

from synthlab.analysis.plotting import save_panel, save_sheet
from synthlab.errors import InputError
from synthlab.output import say
from synthlab.runs.registry import STRICT, validate
from synthlab.runs.run import Seed
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
from synthlab.studies.study import Paper, Plan, Results, Seeds
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
    of_the_command = {*OF_THE_COMMAND} - {"study"}  # study.NAME.key=value edits a study
    overrides = Overrides(override for key, override in given.items() if key.split(".")[0] not in of_the_command)
    plans = [study.plan(name, overrides, own.seeds, own.first_seed) for name, study in studies.items()]
    overrides.check_all_taken(config for plan in plans for config in plan.configs)

    store = Store(own.results, None if own.replot else own.save, own.tag)
    tracker = tracker_of(raw["tracker"], store.tag) if "tracker" in raw else None
    runs = StudyRuns(store, own.replot, workers, device, tracker)
    root = store.root / paper.name  # raises for an object store, where only records can be stored
    runs.check(config for plan in plans for config in plan.configs)
    store.make_writable(f"{paper.name}/figures")
    plans, records, undecided = train_in_rounds(plans, runs, paper.claims)

    files, lines = _write_all(paper, plans, records, root, command)
    lost = left_out_lines(records.values())
    say("written:", *(f"  {file}" for file in files), *lost, *lines, *undecided)
    return not lost


def _write_all(
    paper: Paper, plans: Sequence[Plan], records: Mapping[str, Record], root: Path, command: str
) -> tuple[list[Path], list[str]]:
    """Write the results of the studies below ``root``; return the files, and lines for the terminal."""
    pictures: list[Picture] = []
    verdicts: list[Verdict] = []
    lines: list[str] = []
    for plan in plans:
        evidence = plan.study.evidence(plan, records)
        results = plan.study.results(plan, records, evidence)
        grounds = plan.study.grounds(evidence, plan.study.count_trained(plan))
        judged = judge(paper.claims.values(), plan.figure, grounds)
        pictures.append(_write(paper, plan, results, judged, root / "figures"))
        verdicts += judged
        lines += results.lines
    files = [*(file for picture in pictures for file in picture.files), root / "claims.csv", root / "report.html"]
    with _catch_write_errors():
        verdict_table(verdicts).to_csv(root / "claims.csv", index=False)
        write_report(root / "report.html", pictures, verdicts, list(records.values()), command, paper.about)
    return files, [*lines, *verdict_lines(verdicts)]


def _write(paper: Paper, plan: Plan, results: Results, verdicts: Sequence[Verdict], folder: Path) -> Picture:
    """Write the files of one study."""
    tables = {**results.tables, **({"claims": add_statements(verdicts)} if verdicts else {})}
    with _catch_write_errors():
        files = save_sheet(folder, plan.name, plan.study.title, list(results.panels.values()))
        for key, panel in results.panels.items():
            files += save_panel(folder, paper.panel_file(plan.name, key), panel)
        for key, table in tables.items():
            files.append(folder / f"{paper.table_file(plan.name, key)}.csv")
            table.to_csv(files[-1], index=False)
    titles = [panel.title for panel in results.panels.values()]
    return Picture(plan.name, plan.study.title, titles, files, results.numbers)


@contextmanager
def _catch_write_errors() -> Iterator[None]:
    """Turn an OSError into one line that names what cannot be written."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be written ({error.strerror}); the runs are kept") from None
