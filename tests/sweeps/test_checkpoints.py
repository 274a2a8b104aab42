"""``save=weights`` and ``save=checkpoints``: models as they were during training, kept, opened, and trained again."""

import pickle
from dataclasses import replace

import pytest
import torch

import synthlab
from experiments.long_short_alignment.scalar import ScalarRun
from support.configs import EXPLOSIVE, QUICK, config, small
from support.records import all_weights, as_lists, final_weights, made_weights, record, with_weights
from synthlab.errors import DamagedRecord, InputError, RunsFailed
from synthlab.storage.store import Store
from synthlab.sweeps.sweep import Sweep, ensure
from synthlab.training import optimizers
from synthlab.training.execution import execute, execute_together

CURVE = ("protocol.steps=9", "protocol.record_every=2")  # checkpoints after 2, 4, 8 and 9 steps
ADAPTED = ("task=hidden_markov", "extension=dual_chunk", "finetune.steps=5", "pattern=shifted", "lora=lora")
RUNS = {
    "numbers": lambda seed: config(*CURVE, "encoding=learned", f"seed={seed}"),
    "linear": lambda seed: config(*CURVE, "model=linear", "model.head_dim=2", f"seed={seed}"),
    "scalar": lambda seed: ScalarRun.from_run(config(*CURVE, f"seed={seed}")),
    "language": lambda seed: small("task=recall", "encoding=randomized", "protocol.steps=9", f"seed={seed}"),
    "fine-tuned": lambda seed: small("task=hidden_markov", "extension=pi", "finetune.steps=5", f"seed={seed}"),
    "adapted": lambda seed: small(*ADAPTED, f"seed={seed}"),
}


def values(model: synthlab.TrainedModel) -> torch.Tensor:
    return torch.cat([each.flatten() for each in model.module.state_dict().values()])


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(family, marks=pytest.mark.slow) if family in ("scalar", "fine-tuned", "adapted") else family
        for family in RUNS
    ],
)
def test_every_member_of_an_ensemble_is_kept_as_training_it_alone_has_it(tmp_path, family):
    runs = [RUNS[family](seed) for seed in (0, 1)]
    kept = ensure(runs, Store(tmp_path, "checkpoints"), progress=False)
    for each, run in zip(kept, runs, strict=True):
        assert list(each.weights) == [
            *sorted({*(run.checkpoints[i] for i in (0, 1, 3) if i < len(run.checkpoints))}),
            run.steps,
        ]
        models = [each.model(step) for step in each.weights]
        assert [model.step for model in models] == list(each.weights)
        for one, step in zip(models, each.weights, strict=True):
            again = with_weights(each, None).model(step)  # a warning, if the curve up to there differs, is an error
            assert torch.equal(values(one), values(again))
        assert all(not torch.equal(values(one), values(models[-1])) for one in models[:-1])
        assert torch.equal(values(each.model()), values(models[-1]))


def test_a_checkpoint_is_the_model_of_that_step(monkeypatch):
    """The weights after step 4 are those that the optimizer left there."""
    run, seen = config(*CURVE), {}
    update = optimizers.RowOptimizer.update

    def count_and_update(self):
        update(self)
        seen[len(seen) + 1] = self.groups[0].rows.clone()

    monkeypatch.setattr(optimizers.RowOptimizer, "update", count_and_update)
    (kept,) = execute_together([run], keep=[4, 9])
    monkeypatch.undo()
    for number in (4, 9):
        parts = [value.flatten() for value in kept.model(number).module.parameters()]
        rows = torch.cat([torch.nn.functional.pad(part, (0, -len(part) % optimizers.ALIGNMENT)) for part in parts])
        assert torch.equal(rows, seen[number][0])


def test_a_curve_that_differs_when_trained_again_is_told():
    kept = execute(config(*CURVE))
    loss = kept.training["loss"]
    with pytest.warns(UserWarning, match="another training curve than recorded"):
        replace(kept, training=kept.training.assign(loss=loss.where(loss.index != 1, 0.5))).model(4)


def test_checkpoints_join_weights_that_were_kept_before(tmp_path):
    configs = [config(*CURVE, f"seed={seed}") for seed in range(2)]
    plain = ensure(configs, Store(tmp_path), progress=False)
    ensure(configs, Store(tmp_path, "weights"), progress=False)
    kept = ensure(configs, Store(tmp_path, [4]), progress=False)
    assert all(list(each.weights) == [4, 9] for each in kept)
    last = [final_weights(each) for each in kept]
    kept = ensure(configs, Store(tmp_path, "checkpoints"), progress=False)
    assert all(list(each.weights) == [2, 4, 8, 9] for each in kept)
    assert [final_weights(each) for each in kept] == last
    assert [each.environment for each in kept] == [each.environment for each in plain]
    assert all(one.metrics.equals(other.metrics) for one, other in zip(kept, plain, strict=True))
    before = [*tmp_path.glob("runs/*")]
    for save in ("checkpoints", "weights", [4], [2, 9], None):
        ensure(configs, Store(tmp_path, save), progress=False)
    assert [*tmp_path.glob("runs/*")] == before  # nothing was trained again


@pytest.mark.parametrize("where", ["folder", "memory://checkpoints/results"])
def test_reading_records_reads_no_weights(tmp_path, monkeypatch, where):
    store = Store(tmp_path if where == "folder" else where)
    kept = with_weights(with_weights(record(), made_weights(1)), made_weights(2), step=2)
    store.write(kept)
    fetch, fetched = store.files.fetch, []
    monkeypatch.setattr(store.files, "fetch", lambda path: fetched.append(path) or fetch(path))
    (found,) = store.read_all()
    assert not fetched
    assert as_lists(found.weights[2]()) == as_lists(made_weights(2))
    assert len(fetched) == 1
    monkeypatch.undo()
    assert where != "folder" or all_weights(pickle.loads(pickle.dumps(store.read(kept.config.id)))) == all_weights(kept)


@pytest.mark.parametrize("gone", [True, False])
def test_damaged_and_missing_weights_are_mended_by_who_keeps_them(tmp_path, gone):
    runs = [config(*CURVE, f"seed={seed}") for seed in (0, 1)]
    whole = ensure(runs, Store(tmp_path, "checkpoints"), progress=False)
    weights = [*map(all_weights, whole)]
    (path,) = tmp_path.glob("weights/*.safetensors")
    data = path.read_bytes()
    if gone:
        path.unlink()
    else:
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    left = ensure(runs, Store(tmp_path), progress=False)  # who keeps none needs none
    assert left[1].metrics.equals(whole[1].metrics)
    if not gone:
        with pytest.raises(DamagedRecord, match=f"{path}: damaged .*; a sweep that asks"):
            [load() for each in left for load in each.weights.values()]
        with pytest.warns(UserWarning, match=f"a damaged file was set aside, .*{tmp_path}/damaged/.*{path.name}"):
            ensure(runs, Store(tmp_path, "checkpoints"), progress=False)
    again = ensure(runs, Store(tmp_path, "checkpoints"), progress=False)
    assert [*map(all_weights, again)] == weights


def test_a_run_that_diverges_keeps_none_and_costs_no_other_its_own(tmp_path):
    runs = [config(*EXPLOSIVE, "protocol.lr=1e-9"), config(*EXPLOSIVE)]
    for _ in range(2):
        kept = ensure(runs, Store(tmp_path, "checkpoints"), progress=False)
        assert [list(each.weights) for each in kept] == [[2, 4, 8, 16, 30], []]
    with pytest.raises(InputError, match=r"record .*: the run diverged at step \d+: there is no model"):
        kept[1].model()


def test_steps_are_asked_for_in_python(tmp_path):
    asked = {**QUICK, "results": tmp_path, "progress": False}
    model = synthlab.train(**asked, save=[2])
    assert (model.step, list(model.record.weights)) == (4, [2, 4])
    opened = synthlab.load_model(model.record.config.id, tmp_path, step=2)
    assert opened.step == 2
    assert opened.record.model(2).predict(["0110"]).answer == opened.predict(["0110"]).answer
    assert opened.predict(["0110"]).answer != model.predict(["0110"]).answer
    (again,) = synthlab.run(**asked)
    assert list(again.weights) == [2, 4]
    with pytest.raises(InputError, match=r"^save=\[3\]: must be a step of the training curve"):
        synthlab.run(**asked, seed=5, save=[3])
    assert len(Store(tmp_path).ids()) == 1


def test_weights_join_a_record_with_the_same_numbers_and_no_other(tmp_path):
    store = Store(tmp_path, save="weights")
    kept = record()
    store.write(kept)
    assert not store.is_recorded(kept.config)
    for other in (with_weights(record(scale=1 + 1e-15), made_weights(1)), record(diverged_at=3)):
        store.write(other)
        assert "trained again for its weights, it gives other numbers" in str(store.read_failure(kept.config.id))
        assert not store.is_recorded(kept.config)
    store.write(replace(with_weights(kept, made_weights(1)), environment={"torch": "3"}))
    assert store.is_recorded(kept.config)
    found = store.read(kept.config.id)
    assert (final_weights(found), found.environment) == (as_lists(made_weights(1)), kept.environment)
    store.write(with_weights(kept, made_weights(2)))  # it stays as it is
    assert final_weights(store.read(kept.config.id)) == as_lists(made_weights(1))


def test_only_runs_without_weights_are_trained_again(tmp_path):
    configs = [*(config(f"seed={seed}") for seed in range(3)), config(*EXPLOSIVE)]
    ensure(configs, Store(tmp_path), progress=False)
    store = Store(tmp_path, "weights")
    ensure(configs[:1], store, progress=False)
    sweep = Sweep(configs, store, keep=lambda record: record)
    sweep.prepare()
    assert sweep.count() == ("0 done, 0 failed, 2 skipped, 2 left", 2)  # one has diverged and has no model
    sweep.train()
    assert [bool(sweep.results[each.id].weights) for each in configs] == [True] * 3 + [False]


def test_a_run_that_gives_other_numbers_fails_and_costs_no_other_its_weights(tmp_path):
    configs = [config(f"seed={seed}") for seed in range(3)]
    Store(tmp_path).write(replace(record(), config=configs[0]))
    with pytest.raises(
        RunsFailed, match=f"{configs[0].id} seed=0: trained again for its weights, it gives other numbers"
    ):
        ensure(configs, Store(tmp_path, "weights"), progress=False)
    assert [Store(tmp_path, "weights").is_recorded(each) for each in configs] == [False, True, True]
    assert ensure(configs[:1], Store(tmp_path), progress=False)[0].metrics.equals(record().metrics)
