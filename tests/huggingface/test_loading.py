"""Folders of Transformers that cannot be opened."""

import json
import re
from pathlib import Path

import pytest

from support import hf
from support.language_models import pretrained
from synthlab.errors import InputError

pytestmark = pytest.mark.slow

OWN_CODE = {"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return Path(pretrained(tmp_path_factory.mktemp("pretrained")))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (OWN_CODE, "cannot be opened (it has code of its own"),
        ({"vocab_size": 40}, "its lm_head.weight has shape [28, 64]; by its config it must be [40, 64]"),
        ({"num_hidden_layers": 3}, "lacks the weights model.layers.2."),
    ],
)
def test_a_config_that_does_not_fit_is_refused(folder, settings, why):
    whole = (folder / "config.json").read_text()
    (folder / "config.json").write_text(json.dumps(json.loads(whole) | settings))
    with pytest.raises(InputError, match=f"^{re.escape(f'model={folder}: {why}')}.*$"):
        hf.loading.causal_model("model", folder)
    (folder / "config.json").write_text(whole)
