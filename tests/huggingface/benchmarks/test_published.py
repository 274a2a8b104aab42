"""Names of lengths, and tokenizers that name code."""

import json
from pathlib import Path

import pytest

from synthlab.errors import InputError
from synthlab.huggingface.benchmarks.published import save_tokenizer, thousands


@pytest.mark.parametrize(
    ("length", "name"),
    [(0, "0k"), (1000, "1k"), (4096, "4k"), (16_384, "16k"), (128_000, "128k"), (131_072, "128k"), (256_000, "256k")],
)
def test_lengths_as_babilong_names_them(length, name):
    assert thousands(length) == name


def test_lengths_that_babilong_lacks_are_refused():
    with pytest.raises(InputError, match="^lengths=1500: "):
        thousands(1500)


def test_a_saved_tokenizer_names_no_code(tmp_path):
    class Tokenizer:
        """One that was opened from a folder that names code, which Transformers writes again."""

        def save_pretrained(self, folder: str) -> None:
            told = {"auto_map": {"AutoTokenizer": ["owner/code--module.Class", None]}, "pad_token": "é"}
            (Path(folder) / "tokenizer_config.json").write_text(json.dumps(told))

    save_tokenizer(Tokenizer(), str(tmp_path))
    assert json.loads((tmp_path / "tokenizer_config.json").read_text()) == {"pad_token": "é"}
