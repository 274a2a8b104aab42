from dataclasses import replace

import numpy as np
import pytest
import torch

from support.configs import config
from synthlab import run
from synthlab.errors import InputError
from synthlab.regression.construction import build_models
from synthlab.regression.family import NUMBERS
from synthlab.regression.outrep import OUTREPS
from synthlab.regression.tasks import TASKS
from synthlab.training.execution import execute


def test_a_record_says_which_vector_instructions_made_it():
    found = execute(config()).environment["instructions"]
    assert found == torch.backends.cpu.get_cpu_capability()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("outrep", OUTREPS)
def test_every_task_trains_with_every_map(task, outrep):
    record = execute(config(f"task={task}", f"outrep={outrep}"))
    assert record.status == "finished"
    assert np.isfinite(record.metrics).all().all()


def test_the_distribution_of_training_lengths_is_heeded():
    uniform, longest = (execute(config(f"length_distribution={name}")) for name in ("uniform", "longest"))
    assert not uniform.training.equals(longest.training)


def test_learned_positions_beyond_training_stay_at_their_initial_values(monkeypatch):
    run, models = config("encoding=learned", "train_length=5"), []
    noting = replace(NUMBERS, build_models=lambda c: models.append(build_models(c)) or models[0])
    monkeypatch.setattr("synthlab.regression.family.NUMBERS", noting)
    execute(run)
    before, after = (ensemble.encoding.vectors[0] for ensemble in (build_models([run]), models[0]))
    assert (before[7:] == after[7:]).all()
    assert (before[:7] != after[:7]).any(1).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seeds": 0}, "seeds=0: must be a number of seeds, 1 or more"),
        ({"seeds": []}, r"seeds=\[\]: must be a number of seeds"),
        ({"seeds": 2, "seed": 1}, "seeds=2: give either seed or seeds"),
        ({"hydra/launcher": "ray"}, "hydra/launcher: only sweeps on the command line take it"),
    ],
)
def test_run_refuses_bad_settings(tmp_path, settings, message):
    with pytest.raises(InputError, match=message):
        run(results=tmp_path, progress=False, **settings)
    assert not (tmp_path / "runs").exists()
