"""Every task of the lab can be run, printed, collected, compared and opened in the same way."""

import pandas as pd
import pytest

import synthlab
from synthlab.runs.conf_files import families, run_type, tasks_of

SMALL = ["model.width=16", "model.heads=2", "model.depth=1", "protocol.steps=2", "protocol.record_every=1"]
SMALL += ["protocol.batch=4", "evaluation.sequences=8"]
TASKS = [(family, task) for family in families() for task in tasks_of(family)]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "task"), TASKS)
def test_every_task(family, task, invoke, tmp_path):
    results, kind = tmp_path / "results", run_type(family)
    ran = invoke("synthlab", f"task={task}", *SMALL, f"results={results}", "workers=1")
    assert ran.status == 0, ran.err
    primary = kind.measures().primary
    assert " up to " in ran.out  # the horizon, in words
    assert "chance" in ran.out
    identity = ran.out.split("record: ")[1].split()[0].rpartition("/")[2]

    collected = invoke("collect", str(results), "--out", str(tmp_path / "runs.csv"))
    assert collected.status == 0, collected.err
    table = pd.read_csv(tmp_path / "runs.csv")
    assert set(table["id"]) == {identity}
    assert table[primary].notna().all()

    compared = invoke("compare", str(results), "--out", str(tmp_path / "compared.png"))
    assert compared.status == 0, compared.err
    assert (pd.read_csv(tmp_path / "compared.points.csv")["metric"] == primary).all()

    model = synthlab.load_model(identity, results)  # trained again
    assert model.record.config.id == identity
