"""``synthlab sweep``: a sweep, from its overrides to its table."""

import json
import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from synthlab.errors import RunsFailed
from synthlab.output import print_err, print_out
from synthlab.runs.composition import require_launcher
from synthlab.storage.files import write_whole
from synthlab.storage.store import Store
from synthlab.sweeps.launchers import launch
from synthlab.sweeps.ranking import failure_lines, rankings, render_rankings, summarize_run
from synthlab.sweeps.sweep import Sweep, count_workers
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
    typed, launcher = [*config.hydra.overrides.hydra], config.hydra.runtime.choices["hydra/launcher"]
    require_launcher(launcher)  # the Ray launcher is part of the lab, Ray is not
    asked = grid([*overrides, *(given for given in typed if given.startswith("hydra.searchpath="))])
    settings = asked.settings
    device, workers = find_device(settings["device"]), settings["workers"]
    if launcher == "basic":  # Hydra's own, which has no workers
        workers = count_workers(workers, device)
    else:  # jobs, which ask for GPUs themselves; by default as many as SLURM may run at a time
        workers = count_workers(workers or (config.hydra.launcher.get("array_parallelism") if device == "cpu" else 1))
    store = Store(settings["results"], settings["save"], settings["tag"])
    tracker = tracker_of(settings["tracker"], store.tag)
    runs = Sweep(asked.configs, store, keep=summarize_run)
    runs.prepare(settings["retry"] or "none")
    if any(given.startswith("hydra.sweep.dir=") for given in typed):
        folder = Path(config.hydra.sweep.dir)
    else:  # below the store; if that is no folder, below the working folder
        day, now = time.strftime("%Y-%m-%d %H-%M-%S").split()
        folder = (store.files.local or Path()) / "sweeps" / day / f"{now}-{os.getpid()}"
    began, troubles = time.time(), []
    with runs.progress():
        if launcher == "basic":
            runs.train(workers, device, tracker=tracker)
        elif runs.missing:
            troubles = launch(config, context, runs, folder, workers, device, settings["tracker"])
            runs.wait()
    rows = [runs.results[identity] for identity in runs.configs if identity in runs.results]
    about = {
        "command": shlex.join(command),
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began)),
        "seconds": round(time.time() - began, 3),
        "failed": sorted(runs.failures),
        "damaged": runs.damaged,
    }
    tables: list[str] = []
    texts = {"sweep.json": json.dumps(about, indent=1) + "\n"}
    if found := rankings(rows):
        ranked = pd.concat([table.assign(family=family) for family, table in found.items()])
        texts["ranking.csv"] = ranked.to_csv(index=False)
        texts["runs.csv"] = pd.DataFrame(rows).to_csv(index=False)
        tables = [f"tables:  {folder / 'ranking.csv'} (a row a combination), {folder / 'runs.csv'} (a row a run)"]
    try:
        for name, text in texts.items():
            write_whole(folder / name, text)
    except OSError as error:
        tables = []
        troubles.append(f"warning: {folder}: cannot be written ({error.strerror}); the records are kept")
    print_out(*([render_rankings(found)] if found else []), f"records: {store.files.path('runs')}", *tables)
    troubles += [f"warning: {where}: a damaged file, set aside and its runs trained anew" for where in runs.damaged]
    asked, failures = len(runs.configs), []
    if runs.failures:
        failures += failure_lines(runs.failures, store.files.address, asked)
    if diverged := [row for row in rows if row["status"] == "diverged"]:
        first = f"the first {diverged[0]['id']} at step {diverged[0]['diverged_at']}"
        failures.append(f"diverged: {len(diverged)} of {asked} runs, {first}; a lower protocol.lr may help")
    if runs.missing:
        failures.append(f"missing: {len(runs.missing)} of {asked} runs; the same command goes on from there")
    if failures:
        raise RunsFailed(*troubles, *failures)
    if troubles:
        print_err(*troubles)
