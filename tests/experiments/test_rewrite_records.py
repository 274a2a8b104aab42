"""Records of the layout before, rewritten: each number as it was."""

import json

import pytest
from safetensors.torch import save_file

from experiments.rewrite_records import rewrite
from support.records import all_weights, made_weights, record, unmeasured, with_weights
from synthlab.errors import InputError
from synthlab.storage.store import Store


def name_as_before(settings):
    return {"kind": "regression"} | {key: value for key, value in settings.items() if key != "family"}


def write_before(folder, kept):
    run = folder / "runs" / kept.config.id
    run.mkdir(parents=True)
    (run / "config.json").write_text(json.dumps(name_as_before(kept.config.model_dump())))
    for name in ("metrics", "training", "outputs"):
        if (table := getattr(kept, name)) is not None:
            table.to_csv(run / f"{name}.csv", index=False)
    for step, load in kept.weights.items():
        name = "weights" if step == kept.config.steps else f"weights-{step}"
        save_file(load(), run / f"{name}.safetensors")
    status = {"results_version": kept.config.results_version, "status": kept.status, "diverged_at": kept.diverged_at}
    (run / "status.json").write_text(json.dumps(status | {"environment": kept.environment, "sha256": {}}))


def test_a_folder_of_the_layout_before_is_rewritten_with_every_number(tmp_path):
    kept = [
        with_weights(with_weights(record(0), made_weights(1)), made_weights(2), step=2),
        unmeasured(1),
        record(2, diverged_at=3),
    ]
    for each in kept:
        write_before(tmp_path, each)
    failed = tmp_path / "failed" / record(3).config.id
    failed.mkdir(parents=True)
    about = {
        "config": name_as_before(record(3).config.model_dump()),
        "error": "ValueError: no",
        "environment": {"torch": "2"},
    }
    (failed / "status.json").write_text(json.dumps(about))
    (failed / "traceback.txt").write_text("Traceback")
    (tmp_path / "tags" / "pilot").mkdir(parents=True)
    (tmp_path / "tags" / "pilot" / kept[1].config.id).touch()
    with pytest.raises(InputError, match="rewrite_records"):
        Store(tmp_path).ids()
    for _ in range(2):  # again is no harm
        assert rewrite(tmp_path) == 3
    store = Store(tmp_path)
    for each in kept:
        found = store.read(each.config.id)
        for name in ("metrics", "training", "outputs"):
            one, other = getattr(each, name), getattr(found, name)
            assert one is other is None or one.astype(float).equals(other.astype(float))
        assert (found.config, found.diverged_at, found.environment) == (each.config, each.diverged_at, each.environment)
        assert all_weights(found) == all_weights(each)
    assert store.read(kept[1].config.id).tags == ("pilot",)
    assert store.read_failure(record(3).config.id).traceback == "Traceback"
