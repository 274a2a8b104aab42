"""Real sweeps through every launcher: their records are those that the sweep's own workers make."""

import json
import os
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import pytest
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins

from support.processes import finish
from synthlab.runs.composition import LAUNCHERS
from synthlab.storage.store import Store

SWEEP = ["task=mean,length", "encoding=nope,rope", "seed=range(3)", "protocol.steps=50", "evaluation.sequences=8"]
RUNS = 12


def sweep(results: Path, *more: str, **environment: str) -> subprocess.CompletedProcess:
    return finish("synthlab", "-m", *SWEEP, f"results='{results}'", *more, **environment)


def read_numbers(results: Path) -> dict[str, str]:
    """Return all numbers of all records, exactly."""
    return {each.config.id: each.metrics.to_csv() + each.training.to_csv() for each in Store(results).read_all()}


@pytest.fixture(scope="module")
def serial(tmp_path_factory) -> dict[str, str]:
    """Return the numbers that one process makes of the sweep."""
    results = tmp_path_factory.mktemp("serial")
    done = sweep(results, "workers=1")
    assert done.returncode == 0, done.stderr
    return read_numbers(results)


# A SLURM of one machine: it runs what is submitted, and loses the node of the array's tasks in FAKE_LOST.
FAKE_SLURM = """
    import os, pathlib, re, subprocess, sys
    name, root, words = pathlib.Path(sys.argv[0]).name, pathlib.Path(os.environ["FAKE_SLURM"]), sys.argv[1:]
    lost = os.environ.get("FAKE_LOST", "").split()
    if name == "sbatch":
        script = pathlib.Path(words[-1]).read_text()
        pathlib.Path(root, "script").write_text(script)
        array = re.search(r"--array=0-(\\d+)", script)
        tasks = range(int(array[1]) + 1) if array else [None]
        for task in tasks:
            key = "77" if task is None else f"77_{task}"
            state = root / f"{key}.state"
            state.write_text("RUNNING")
            if str(task or 0) in lost:
                state.write_text("NODE_FAIL")
                continue
            ids = {"SLURM_JOB_ID": str(77 + (task or 0)), "SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "1"}
            ids |= {"SLURM_NODEID": "0", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_JOB_NODELIST": "fake"}
            ids |= {} if task is None else {"SLURM_ARRAY_JOB_ID": "77", "SLURM_ARRAY_TASK_ID": str(task)}
            shell = f"bash {words[-1]}.kept; echo COMPLETED > {state}"
            pathlib.Path(words[-1] + ".kept").write_text(script)
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
            subprocess.Popen(["bash", "-c", shell], env={**os.environ, **ids, "KEY": key}, **quiet)
        print("Submitted batch job 77")
    elif name == "srun":
        while words[0].startswith("--"):
            words = words[1:] if words[0] in ("--unbuffered",) or "=" in words[0] else words[2:]
        os.execvp(words[0], words)
    elif name == "sacct":
        print("JobID|State|NodeList")
        for state in root.glob("*.state"):
            print(f"{state.stem}|{state.read_text().strip()}|fake")
"""


@pytest.fixture
def slurm(tmp_path) -> dict[str, str]:
    """The environment in which there is a SLURM."""
    tools, root = tmp_path / "tools", tmp_path / "slurm"
    tools.mkdir()
    root.mkdir()
    for name in ("sbatch", "srun", "sacct", "scancel", "scontrol", "squeue"):
        (tools / name).write_text(f"#!{sys.executable}\n{textwrap.dedent(FAKE_SLURM)}")
        (tools / name).chmod(0o755)
    return {"PATH": f"{tools}:{os.environ['PATH']}", "FAKE_SLURM": str(root)}


def needs(launcher: str) -> None:
    extra, package = LAUNCHERS[launcher]
    if find_spec(package) is None:
        pytest.skip(f"needs the extra {extra}")


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["basic", *LAUNCHERS])
def test_a_sweep_makes_the_same_records_through_every_launcher(tmp_path, serial, launcher, slurm):
    if launcher != "basic":
        needs(launcher)
    # Jobs find their files whatever the folder is called; only sbatch takes no spaces.
    results = tmp_path / ("results" if launcher == "slurm" else "re sults, odd=name")
    how = [f"hydra/launcher={launcher}", "workers=2"]
    done = sweep(results, *how, "tag=pilot", **slurm)
    assert done.returncode == 0, done.stderr
    assert read_numbers(results) == serial
    assert Store(results).tags == dict.fromkeys(serial, ("pilot",))
    assert f"{RUNS} done, 0 failed, 0 skipped, 0 left" in done.stderr
    assert "Traceback" not in done.stderr
    if launcher != "basic":
        jobs = [json.loads(path.read_text())["runs"] for path in results.glob("sweeps/*/*/jobs/*")]
        assert [len(runs) for runs in jobs] == [RUNS / 2] * 2
    again = sweep(results, *how, **slurm)
    assert again.returncode == 0, again.stderr
    assert f"0 done, 0 failed, {RUNS} skipped, 0 left" in again.stderr


@pytest.mark.slow
def test_the_runs_of_a_lost_node_are_missing_until_the_same_sweep_trains_them(tmp_path, serial, slurm):
    needs("slurm")
    how = ["hydra/launcher=slurm", "hydra.launcher.array_parallelism=2", "hydra.launcher.partition=short"]
    done = sweep(tmp_path, *how, **slurm, FAKE_LOST="1")
    assert done.returncode == 1, done.stderr
    assert "failed: slurm ended early (UncompletedJobError: " in done.stderr
    assert len(list(Store(tmp_path).ids())) == RUNS / 2
    assert f"missing: {RUNS // 2} of {RUNS} runs; the same command goes on from there" in done.stderr
    again = sweep(tmp_path, *how, **slurm)
    assert again.returncode == 0, again.stderr
    assert read_numbers(tmp_path) == serial
    script = Path(slurm["FAKE_SLURM"], "script").read_text()
    for option in ("--cpus-per-task=1", "--mem=2GB", "--time=120", "--signal=USR2@60", "--partition=short"):
        assert f"#SBATCH {option}" in script
    assert "export OMP_NUM_THREADS=1" in script


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["joblib", "ray"])
def test_a_run_that_kills_its_job_costs_no_other(tmp_path, launcher):
    needs(launcher)
    deadly = ["task.name=mean,support.user_classes:Deadly", "encoding=nope", "seed=0,1", "workers=2"]
    for _ in range(6):  # the same sweep again, until a killed run has been tried alone
        done = sweep(tmp_path, f"hydra/launcher={launcher}", *deadly)
        if "failed: 2 of 4" in done.stderr:
            break
    assert "failed: 2 of 4 runs" in done.stderr, done.stderr
    assert done.stderr.count("its worker was killed twice") == 2
    assert len(list(Store(tmp_path).ids())) == 2


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_launcher_that_is_not_installed_is_refused_with_what_to_install(invoke, quick, monkeypatch, launcher):
    Plugins.instance()  # registers the launchers that are
    for name in (launcher, "submitit_slurm"):  # the second is what conf/hydra/launcher/slurm.yaml builds on
        monkeypatch.delitem(ConfigStore.instance().repo["hydra"]["launcher"], f"{name}.yaml", raising=False)
    monkeypatch.setattr("synthlab.errors.find_spec", lambda _: None)
    outcome = invoke("synthlab", *quick, "-m", "seed=0,1", f"hydra/launcher={launcher}")
    extra, package = LAUNCHERS[launcher]
    line = f"error: hydra/launcher={launcher}: needs {package}; pip install -e '.[{extra}]'\n"
    assert (outcome.status, outcome.out, outcome.err) == (2, "", line)
