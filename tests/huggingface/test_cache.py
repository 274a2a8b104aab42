"""Results of evaluations, a file each: read back as they were, and computed again where a file is damaged."""

import math

import pytest

from synthlab.huggingface.benchmarks.score_cache import Scored
from synthlab.huggingface.benchmarks.scores import COLUMNS
from synthlab.huggingface.cache import Cache
from synthlab.huggingface.perplexity.scoring import Part
from synthlab.storage.files import Folder

ROW = dict.fromkeys(COLUMNS, "x") | {COLUMNS[-1]: math.nan, COLUMNS[-2]: 0.1, COLUMNS[-3]: 3}


@pytest.mark.parametrize(
    "result",
    [Part(count=3, sums={"loss": 0.1 + 0.2}, contexts=[1e-300, 2.0]), Scored(rows=[ROW], requests=2, cut=1)],
)
def test_results_come_back_and_damage_is_nothing(tmp_path, result):
    cache = Cache(Folder(tmp_path), type(result))
    cache.make_writable()
    assert cache.read("ab" * 16) is None
    cache.write("ab" * 16, result)
    assert repr(cache.read("ab" * 16)) == repr(result)
    (path,) = tmp_path.rglob("*.json")
    assert path.parent == tmp_path / "parts" / "ab"
    for damage in (path.read_bytes()[:-1], b"[" * 100_000, b'{"count": "3"}', b"\xff"):
        path.write_bytes(damage)
        assert cache.read("ab" * 16) is None
