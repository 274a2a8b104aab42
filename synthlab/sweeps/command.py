"""``synthlab sweep``: a sweep, from its overrides to its table."""

import json
import os
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from synthlab.errors import InputError, RunsFailed, format_error
from synthlab.output import say, tell
from synthlab.storage.files import write_whole
from synthlab.storage.store import Store
from synthlab.sweeps.launchers import Launcher
from synthlab.sweeps.ranking import failure_lines, join_rankings, rankings, render_rankings, summarize_run
from synthlab.sweeps.sweep import Outcome, Sweep, count_workers
from synthlab.sweeps.sweep_grid import grid
from synthlab.sweeps.trackers import tracker_of
from synthlab.training.devices import find_device

if TYPE_CHECKING:
    from hydra.types import HydraContext
    from omegaconf import DictConfig


def sweep(overrides: list[str], config: "DictConfig", context: "HydraContext", command: list[str]) -> None:
    """Train every combination that ``overrides`` stand for, unless it is recorded; print the best and the worst.

    Args:
        overrides: The sweep's overrides.
        config: The config of Hydra, which names the launcher: with the basic one the sweep's own workers train, on all
            cores; with any other its jobs do.
        context: The context of Hydra.
        command: The words of the command line, as recorded in ``sweep.json``.

    Raises:
        InputError: The sweep is invalid; nothing has been trained.
        RunsFailed: A run failed, diverged or is missing; raised at the end.
    """
    launcher = Launcher(config, context)
    asked = grid([*overrides, *(given for given in launcher.given if given.startswith("hydra.searchpath="))])
    settings = asked.settings
    workers, device = count_workers(settings["workers"]), find_device(settings["device"])
    store = Store(settings["results"], settings["save"], settings["tag"])
    tracker = tracker_of(settings["tracker"], store.tag)
    runs = Sweep(asked.configs, store, keep=summarize_run)
    runs.prepare(settings["retry"] or "none")
    folder, began, lost = _folder(store, launcher), time.time(), []
    with runs.progress():
        if not runs.find_missing():
            pass
        elif launcher.name == "basic":  # Hydra's own launcher, which has no workers
            runs.train(workers if device == "cpu" else 1, device, tracker=tracker)
        else:
            try:
                launcher.launch(runs, folder, device, settings["tracker"])
            except (KeyboardInterrupt, InputError):
                raise
            except Exception as error:  # a launcher's error, where a job is lost; the runs of other jobs are recorded
                lost = [f"failed: {launcher.name} ended early ({format_error(error)[:300]})"]
            runs.wait()
    outcome = runs.end()
    found = rankings(outcome.kept.values())
    files, problems = _write_tables(folder, outcome, found, began, shlex.join(command))
    say(*([render_rankings(found)] if found else []), f"records: {store.files.path('runs')}", *files)
    failures = _failures(outcome, store, len(runs.asked))
    damaged = [f"warning: {file}: a damaged file, set aside and its runs trained anew" for file in outcome.damaged]
    troubles = [*damaged, *problems, *lost, *failures]
    if failures:
        raise RunsFailed(*troubles)
    if troubles:
        tell(*troubles)


def _folder(store: Store, launcher: Launcher) -> Path:
    """Return a folder for the sweep's own files: the given one, else one below the store.

    If the store is no folder, it is below the working folder.
    """
    if any(given.startswith("hydra.sweep.dir=") for given in launcher.given):
        return Path(launcher.config.hydra.sweep.dir)
    try:
        root = store.root
    except InputError:
        root = Path()
    return root / "sweeps" / time.strftime("%Y-%m-%d") / f"{time.strftime('%H-%M-%S')}-{os.getpid()}"


def _write_tables(
    folder: Path, outcome: Outcome[Any], found: Mapping[str, pd.DataFrame], began: float, command: str
) -> tuple[list[str], list[str]]:
    """Write the sweep's tables; return lines that name them, and lines on errors of writing."""
    about = {
        "command": command,
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began)),
        "seconds": round(time.time() - began, 3),
        "recorded": len(outcome.kept),
        "skipped": outcome.skipped,
        "failed": sorted(outcome.failures),
        "missing": outcome.missing,
        "damaged": outcome.damaged,
    }
    try:
        write_whole(folder / "sweep.json", json.dumps(about, indent=1) + "\n")
        if outcome.kept:
            write_whole(folder / "ranking.csv", join_rankings(found).to_csv(index=False))
            write_whole(folder / "runs.csv", pd.DataFrame(outcome.kept.values()).to_csv(index=False))
    except OSError as error:
        return [], [f"warning: {folder}: cannot be written ({error.strerror}); the records are kept"]
    named = f"tables:  {folder / 'ranking.csv'} (a row a combination), {folder / 'runs.csv'} (a row a run)"
    return [named] if outcome.kept else [], []


def _failures(outcome: Outcome[Any], store: Store, asked: int) -> list[str]:
    """Return lines on runs that failed, diverged or are missing."""
    lines = failure_lines(outcome.failures, store, asked) if outcome.failures else []
    diverged = [each for each in outcome.kept.values() if each["status"] == "diverged"]
    if diverged:
        first = diverged[0]
        lines.append(
            f"diverged: {len(diverged)} of {asked} runs, the first {first['id']} at step {first['diverged_at']}; "
            f"a lower protocol.lr may help"
        )
    if outcome.missing:
        lines.append(f"missing: {outcome.missing} of {asked} runs; the same command goes on from there")
    return lines
