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

from support.configs import composed
from synthlab.config.hydra_errors import LAUNCHERS
from synthlab.regression.construction import resolve
from synthlab.storage.store import Store
from synthlab.sweeps.launchers import Batches, split_batches
from synthlab.training.devices import count_cores
from synthlab.training.ensembles import seconds

SWEEP = ["task=mean,length", "encoding=nope,rope", "seed=range(3)", "protocol.steps=50", "evaluation.sequences=8"]
RUNS = 12


def sweep(results: Path, *more: str, **environment: str) -> subprocess.CompletedProcess:
    words = [sys.executable, "-m", "synthlab", "-m", *SWEEP, f"results={results}", *more]
    everything = {**os.environ, **environment, "OMP_NUM_THREADS": "1"}
    cwd = Path(__file__).parents[1]
    return subprocess.run(words, cwd=cwd, env=everything, capture_output=True, text=True, timeout=300, check=False)


def numbers(results: Path) -> dict[str, str]:
    """All numbers of all records, exactly."""
    return {each.config.id: each.metrics.to_csv() + each.training.to_csv() for each in Store(results)}


@pytest.fixture(scope="module")
def serial(tmp_path_factory) -> dict[str, str]:
    """What one process makes of the sweep."""
    results = tmp_path_factory.mktemp("serial")
    done = sweep(results, "workers=1")
    assert done.returncode == 0, done.stderr
    return numbers(results)


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
        options = {word.split("=")[0] for word in words if word.startswith("--")}
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
    results = tmp_path / "re sults, odd=name"  # jobs find their files whatever the folder is called
    results = tmp_path / "results" if launcher in ("basic", "submitit_slurm") else results  # sbatch takes no spaces
    given = f"results='{results}'"
    how = ["tag=pilot", "batches.minutes=0.001"]
    done = sweep(tmp_path / "x", f"hydra/launcher={launcher}", given, *how, **slurm)
    assert done.returncode == 0, done.stderr
    assert numbers(results) == serial
    assert Store(results).tags == dict.fromkeys(serial, ("pilot",))
    assert f"{RUNS} done, 0 failed, 0 skipped, 0 left" in done.stderr
    assert "Traceback" not in done.stderr
    if launcher != "basic":
        (jobs_folder,) = results.glob("sweeps/*/*/jobs")
        batches = [json.loads(path.read_text())["runs"] for path in jobs_folder.iterdir()]
        assert sum(map(len, batches)) == RUNS
        assert len(batches) == (2 if launcher != "submitit_local" else min(2, count_cores()))
    again = sweep(tmp_path / "x", f"hydra/launcher={launcher}", given, **slurm)
    assert again.returncode == 0, again.stderr
    assert f"0 done, 0 failed, {RUNS} skipped, 0 left" in again.stderr


@pytest.mark.slow
def test_a_lost_node_is_told_and_the_same_sweep_again_makes_the_rest(tmp_path, serial, slurm):
    needs("submitit_slurm")
    launcher = ["hydra/launcher=submitit_slurm", "batches.minutes=0.001"]
    done = sweep(tmp_path, *launcher, **slurm, FAKE_LOST="1")
    assert done.returncode == 1, done.stderr
    assert "failed: submitit_slurm ended early (UncompletedJobError: " in done.stderr
    kept = set(Store(tmp_path).ids())
    assert 0 < len(kept) < RUNS
    assert f"missing: {RUNS - len(kept)} of {RUNS} runs; the same command goes on from there" in done.stderr
    again = sweep(tmp_path, *launcher, **slurm)
    assert again.returncode == 0, again.stderr
    assert numbers(tmp_path) == serial
    script = Path(slurm["FAKE_SLURM"], "script").read_text()
    for line in ("--cpus-per-task=1", "--mem=2GB", "--time=120", "--signal=USR2@60"):
        assert f"#SBATCH {line}" in script
    assert "export OMP_NUM_THREADS=1" in script


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["joblib", "ray"])
def test_a_run_that_kills_its_job_costs_no_other(tmp_path, launcher):
    needs(launcher)
    deadly = ["task.name=mean,support.user_classes:Deadly", "encoding=nope", "seed=0,1", "batches.minutes=0.001"]
    deadly += ["hydra.launcher.n_jobs=2"] if launcher == "joblib" else []  # of one, it makes no process
    done = sweep(tmp_path, f"hydra/launcher={launcher}", *deadly)
    for _ in range(5):
        if "0 left" in done.stderr.splitlines()[-1] or "failed: 2 of 4" in done.stderr:
            break
        done = sweep(tmp_path, f"hydra/launcher={launcher}", *deadly)
    assert "failed: 2 of 4 runs" in done.stderr, done.stderr
    assert done.stderr.count("its worker was killed twice") == 2
    assert len(list(Store(tmp_path).ids())) == 2


def test_runs_are_cut_into_jobs_of_the_length_asked_for():
    kinds = [resolve(composed(f"encoding={name}")) for name in ("nope", "rope")]
    configs = [kind.with_seeds({"seed": seed}) for seed in range(40) for kind in kinds]
    total = sum(seconds([each]) for each in configs)
    assert len(split_batches(configs, Batches(minutes=1000.0, at_most=None))) == 1
    many = split_batches(configs, Batches(minutes=0.5, at_most=None))
    assert 2 <= len(many) <= total / 30 + 1
    assert sorted(each.id for part in many for each in part) == sorted(each.id for each in configs)
    assert len(split_batches(configs, Batches(minutes=0.5, at_most=2))) == 2
    assert len(split_batches(configs, Batches(minutes=0.001, at_most="cores"))) <= count_cores()


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_launcher_that_is_not_installed_is_refused_with_what_to_install(invoke, quick, monkeypatch, launcher):
    Plugins.instance()  # registers the launchers that are
    monkeypatch.delitem(ConfigStore.instance().repo["hydra"]["launcher"], f"{launcher}.yaml", raising=False)
    monkeypatch.setattr("synthlab.errors.find_spec", lambda _: None)
    outcome = invoke("synthlab", *quick, "-m", "seed=0,1", f"hydra/launcher={launcher}")
    extra, package = LAUNCHERS[launcher]
    line = f"error: hydra/launcher={launcher}: needs {package}; pip install -e '.[{extra}]'\n"
    assert (outcome.status, outcome.out, outcome.err) == (2, "", line)
