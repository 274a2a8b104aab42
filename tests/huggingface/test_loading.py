"""Folders of Transformers that cannot be opened. Transformers is not imported before a test runs."""

import json
import shutil
from pathlib import Path

import pytest

from support.language_models import pretrained
from synthlab.errors import InputError

pytestmark = pytest.mark.slow

OWN_CODE = {"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}}
SHAPE = "its lm_head.weight has shape [28, 64]; by its config it must be [40, 64]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    pytest.importorskip("transformers")
    return Path(pretrained(tmp_path_factory.mktemp("pretrained")))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (OWN_CODE, "cannot be opened (it has code of its own, which is not run; give one of a type that Transformers "),
        ({"vocab_size": 40}, SHAPE),
    ],
)
def test_a_config_that_does_not_fit_is_refused_in_words_that_help(folder, settings, why):
    from synthlab.huggingface.loading import causal_model

    whole = (folder / "config.json").read_text()
    (folder / "config.json").write_text(json.dumps(json.loads(whole) | settings))
    with pytest.raises(InputError) as caught:
        causal_model("model", folder)
    (folder / "config.json").write_text(whole)
    assert str(caught.value).startswith(f"model={folder}: {why}")
    assert len(caught.value.lines) == 1


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        *(
            ("model.safetensors", damage)
            for damage in (lambda _: b"", lambda whole: whole[:-8], lambda _: b"\xff" * 64)
        ),
        *(("config.json", damage) for damage in (lambda _: b"", lambda _: b"[]", lambda whole: whole[:-2])),
    ],
)
def test_a_damaged_folder_is_refused_in_one_line(folder, tmp_path, name, damage):
    from synthlab.huggingface.loading import causal_model

    damaged = tmp_path / "damaged"
    shutil.copytree(folder, damaged)
    (damaged / name).write_bytes(damage((folder / name).read_bytes()))
    with pytest.raises(InputError) as caught:
        causal_model("pretrained", damaged)
    [line] = caught.value.lines
    assert line.startswith(f"pretrained={damaged}: cannot be opened (")
