import re
from dataclasses import replace

import numpy as np
import pytest

from support.configs import config
from synthlab import run
from synthlab.errors import InputError
from synthlab.numbers.family import NUMBERS, build_models
from synthlab.numbers.outrep import OUTREPS
from synthlab.numbers.tasks import TASKS
from synthlab.training.execution import execute


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("outrep", OUTREPS)
def test_every_task_trains_with_every_map(task, outrep):
    record = execute(config(f"task={task}", f"outrep={outrep}"))
    assert record.status == "finished"
    assert np.isfinite(record.metrics).all().all()


def test_learned_positions_beyond_training_stay_at_their_initial_values(monkeypatch):
    run, models = config("encoding=learned", "train_length=5"), []
    noting = replace(NUMBERS, build_models=lambda c: models.append(build_models(c)) or models[0])
    monkeypatch.setattr("synthlab.numbers.family.NUMBERS", noting)
    execute(run)
    before, after = (ensemble.encoding.vectors[0] for ensemble in (build_models([run]), models[0]))
    assert (before[7:] == after[7:]).all()
    assert (before[:7] != after[:7]).any(1).all()


@pytest.mark.parametrize("settings", [{"seeds": 0}, {"seeds": []}, {"seeds": 2, "seed": 1}])
def test_run_refuses_bad_settings(tmp_path, settings):
    (name, value), *_ = settings.items()
    with pytest.raises(InputError, match=re.escape(f"{name}={value}: ")):
        run(results=tmp_path, progress=False, **settings)
    assert not (tmp_path / "runs").exists()
