"""The source of a class of one's own is part of the identity of its runs: an edited class never gets old numbers."""

import importlib
import linecache
import re
import sys
from pathlib import Path

import pytest

import synthlab
from support.configs import QUICK
from synthlab.analysis.tables import label_series
from synthlab.errors import InputError
from synthlab.numbers.outrep.fixed import Identity
from synthlab.runs.composition import compose, to_overrides
from synthlab.runs.run import resolve
from synthlab.runs.sources import hash_source, user_classes
from synthlab.storage.store import Store
from synthlab.sweeps.workers import train_and_record

CLASS = '''
import torch
from synthlab import Encoding

SLOPE = {slope}

class Slope(Encoding):
    """Logits lowered by the distance."""
    def __init__(self, dims, /, inner: dict | None = None):
        super().__init__()
    def bias(self, query, key):
        return SLOPE * (key - query).unsqueeze(-3)
'''
OPTIMIZER = """
import torch

class Slow(torch.optim.SGD):
    def __init__(self, parameters, lr):
        super().__init__(parameters, lr * {factor})
"""


class Same(Identity):
    """A map of the user's own."""


@pytest.fixture
def edit(tmp_path, monkeypatch):
    """Write a module of the user's own, and import it as a new process does."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str, name: str = "mine_edited"):
        (tmp_path / f"{name}.py").write_text(text)
        sys.modules.pop(name, None)
        importlib.invalidate_caches()
        sys.path_importer_cache.clear()
        monkeypatch.setattr(sys, "dont_write_bytecode", True)  # its time stamp may equal that of the edit
        return importlib.import_module(name)

    yield write
    sys.modules.pop("mine_edited", None)


def run(tmp_path: Path, **settings):
    return synthlab.run(results=tmp_path / "results", **(QUICK | settings))


OWN = {"encoding": "mine_edited:Slope"}


def test_an_edited_class_is_trained_anew_and_its_old_record_stays(edit, tmp_path, capsys):
    edit(CLASS.format(slope=0.1))
    (first,) = run(tmp_path, **OWN)
    edit("# a comment\n\n" + CLASS.format(slope=0.1))
    (same,) = run(tmp_path, **OWN)
    assert same.config.id == first.config.id
    assert capsys.readouterr().err.splitlines()[-1].startswith("nothing was trained: the run is recorded (2")
    edit(CLASS.format(slope=0.9))
    (second,) = run(tmp_path, **OWN, progress=False)
    assert second.config.id != first.config.id
    assert not second.training.equals(first.training)
    assert len(list(Store(tmp_path / "results").ids())) == 2
    table = synthlab.load_records(tmp_path / "results")
    assert all(re.fullmatch(r"encoding\.source_hash=\w{8}", each) for each in set(label_series(table)))


def test_a_model_says_that_its_class_has_changed_since(edit, tmp_path):
    edit(CLASS.format(slope=0.1))
    (record,) = run(tmp_path, **OWN, progress=False, save="weights")
    assert synthlab.load_model(record).step == 4  # no warning, which would be an error here
    edit(CLASS.format(slope=0.9))
    with pytest.warns(UserWarning, match=f"{record.config.id}: encoding=mine_edited:Slope has another source now"):
        synthlab.load_model(record)


def test_a_class_that_changes_between_a_sweeps_start_and_its_training_fails_there(edit, tmp_path):
    edit(CLASS.format(slope=0.1))
    config, store = resolve(compose([*to_overrides(QUICK | OWN)])), Store(tmp_path / "results")
    edit(CLASS.format(slope=0.9))  # what a worker imports
    train_and_record([config], store)
    assert not store.is_recorded(config)
    assert "encoding=mine_edited:Slope: its source changed during the sweep" in str(store.read_failure(config.id))


def test_an_optimizer_of_ones_own_has_its_source_too(edit):
    edit(OPTIMIZER.format(factor=1.0))
    raw = compose(["protocol.optimizer=mine_edited:Slow"])
    first = resolve(raw)
    edit(OPTIMIZER.format(factor=2.0))
    assert resolve(raw).id != first.id == resolve(raw).model_copy(update={"protocol": first.protocol}).id
    again = resolve(first.model_dump() | {"protocol": first.model_dump()["protocol"] | {"optimizer": "sgd"}})
    assert again.protocol.source_hash is None


def test_a_class_within_another_member_counts_and_the_labs_own_and_torchs_do_not(edit):
    edit(CLASS.format(slope=0.1))
    raw = compose(["encoding=randomized", "encoding@encoding.inner=rope", "outrep=chosen", "task=length"])
    raw["protocol"]["optimizer"] = "torch.optim:RMSprop"
    assert list(user_classes(resolve(raw).model_dump())) == []
    raw["encoding"]["inner"] = {"name": "mine_edited:Slope"}
    raw["outrep"]["candidates"] = [
        {"name": "identity", "shift": None},
        {"name": f"{__name__}:Same", "shift": None},
    ]
    assert [place for place, *_ in user_classes(resolve(raw).model_dump())] == ["encoding.inner", "outrep.candidates"]


def test_the_file_that_names_a_class_counts_beside_the_one_that_defines_it(edit):
    parts = (
        "from synthlab import Encoding\n\ndef make(slope):\n    return type('Steep', (Encoding,), {'slope': slope})\n"
    )
    edit(parts, "mine_factory")
    hashes = {
        hash_source("mine_edited", edit(f"from mine_factory import make\nSteep = make({slope})").Steep)
        for slope in (0.5, 5.0)
    }
    assert len(hashes) == 2


@pytest.mark.parametrize("trained", [True, False])
def test_a_file_that_changed_after_its_import_is_named_and_not_taken_for_what_runs(edit, tmp_path, trained):
    made = edit(CLASS.format(slope=0.1))
    file = Path(made.__file__)
    file.write_text("# only a comment\n" + file.read_text())
    if trained:
        run(tmp_path, **OWN, progress=False)
    file.write_text(CLASS.format(slope=0.9))
    with pytest.raises(InputError, match="encoding=mine_edited:Slope: its file has changed since mine_edited was imp"):
        run(tmp_path, **OWN, progress=False)
    importlib.reload(made)
    assert len(run(tmp_path, **OWN, progress=False)) == 1


def test_the_hash_is_of_the_syntax_tree_of_the_whole_file(edit):
    texts = [CLASS.format(slope=slope) for slope in (0.1, "0.10  # ten", 0.2)]  # the second is the same number
    hashes = [hash_source("mine_edited", edit(text).Slope) for text in (*texts, texts[0].replace("-3", "-2"))]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


@pytest.mark.parametrize("changed", ["    def f(self):\n        return 7", "    x = 2"])
def test_a_class_without_a_file_is_known_by_its_cell(changed):
    def define(text: str, cell: str) -> type:
        linecache.cache[cell] = (len(text), None, text.splitlines(keepends=True), cell)
        space: dict = {"__name__": "a_notebook"}
        exec(compile(text, cell, "exec"), space)
        return space["Own"]

    plain = "class Own:\n    x = 1\n    def f(self):\n        return self\n"
    one, same = define(plain, "<cell 1>"), define(plain, "<cell 2>")
    other = define(plain + changed + "\n", "<cell 3>")
    hashes = [hash_source("a_notebook", each) for each in (one, same, other)]
    assert hashes[0] == hashes[1] != hashes[2]
    linecache.cache.clear()
    with pytest.raises(InputError, match="a_notebook:Own: its source cannot be read"):
        hash_source("a_notebook", type("Own", (), {"__module__": "a_notebook"}))
