"""Trained models to hold: their weights, their answers, training them again."""

import importlib
import sys

import numpy as np
import pytest
import torch

import synthlab
from support.configs import QUICK, config, small
from support.records import with_weights
from synthlab.errors import InputError
from synthlab.models.encodings import ENCODINGS
from synthlab.numbers.evaluation import test_sequences as sequences_of
from synthlab.numbers.tasks import INPUTS
from synthlab.storage.records import Record
from synthlab.storage.store import Store
from synthlab.training.execution import execute_together
from synthlab.training.trained import TrainedModel
from synthlab.training.weights import copy_weights

TINY = ("model.width=8", "model.heads=2", "protocol.steps=2", "protocol.record_every=1")
# Encodings of each sort: of tokens, of logits, of vectors, of the length, drawn. All others are packed as these.
SORTS = ("nope", "learned", "alibi", "rope", "cope", "self_extend", "dynamic_ntk", "randomized", "by_layer")
KINDS = [
    *([f"encoding={name}"] for name in SORTS),
    *(pytest.param([f"encoding={name}"], marks=pytest.mark.slow) for name in ENCODINGS if name not in SORTS),
    *([f"model.norm={norm}", "model.depth=2"] for norm in ("pre", "post", "none")),
    ["model=linear", "model.head_dim=2", "model.bos=true"],
    ["encoding.name=support.user_classes:Idle"],
]


def kept(*configs) -> list[Record]:
    return execute_together(configs, keep=[configs[0].steps])


def tiny(*overrides: str) -> Record:
    sizes = TINY if "model=linear" not in overrides else TINY[2:]
    return kept(*(config(*sizes, *overrides, f"seed={seed}") for seed in (0, 1)))[1]


def same(a: TrainedModel, b: TrainedModel) -> bool:
    mine, other = a.module.state_dict(), b.module.state_dict()
    return mine.keys() == other.keys() and all(torch.equal(mine[name], other[name]) for name in mine)


@pytest.mark.parametrize("overrides", KINDS, ids=" ".join)
def test_predictions_have_the_recorded_error(overrides):
    record = tiny(*overrides, "outrep=log", "task=sum")
    run, model = record.config, record.model()
    x = sequences_of(INPUTS.build(run.inputs), run.evaluation.sequences, run.test_length, run.test_seed)
    # Positions that are drawn are new ones for each length: only those of the first length are the same here.
    lengths = [1] if run.encoding["name"] == "randomized" else range(1, run.test_length + 1)
    errors = [(model.predict(x[:, :k]).answer - x[:, :k].sum(1)).square().mean().item() for k in lengths]
    np.testing.assert_allclose(errors, record.metrics["mse"][: len(errors)], rtol=1e-4)


def test_texts_of_several_lengths_are_answered_as_each_alone():
    for encoding in ("t5", "randomized"):
        model = tiny(f"encoding={encoding}", "outrep=rsqrt", "task=length").model()
        texts = ["0110", "1", "0" * 30]
        answer, output = model.predict(texts)
        assert answer.shape == output.shape == (3,)
        torch.testing.assert_close(answer, output.double().clamp(1000.0**-0.5).square().reciprocal())
        torch.testing.assert_close(model.predict(texts[:1]).output, output[:1])
        torch.testing.assert_close(model.predict(torch.tensor([[0, 1, 1, 0]])).output, output[:1])


@pytest.mark.parametrize(
    ("sequences", "message"),
    [
        ("0110", "sequences=0110: must be a list of texts or an integer tensor"),
        (["1", ""], "must be one or more, with one symbol or more each"),
        (torch.tensor([[0, 2]]), "symbols from 0 to 2; must be 0 to 1"),
        (["0" * 99], "one has 99 symbols; encoding=learned takes 18"),
    ],
)
def test_bad_sequences_are_refused_in_one_line(sequences, message):
    with pytest.raises(InputError, match=message):
        RECORD.model().predict(sequences)


def test_a_text_is_its_bytes():
    model = kept(small("task=text"))[0].model()
    texts = model.predict(["def f", "(é"])
    torch.testing.assert_close(texts.output[1:], model.predict(torch.tensor([[40, 195, 169]])).output)


OWN = """from synthlab import Encoding, NumberTask
class Plain(Encoding):
    def __init__(self, dims, /):
        super().__init__()
class Ones(NumberTask):
    def span(self, length):
        return 0.0, float(length)
    def targets(self, x):
        return x.cumsum(1).float()
"""


@pytest.mark.parametrize("named", ["encoding=own_classes:Plain", "task=own_classes:Ones"])
@pytest.mark.parametrize("with_file", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_opening_a_record_imports_nothing(tmp_path, monkeypatch, named, with_file):
    (tmp_path / "own_classes.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    group, _, own = named.partition("=")
    record = tiny(f"{group}.name={own}")
    Store(tmp_path).write(record if with_file else with_weights(record, None))
    monkeypatch.delitem(sys.modules, "own_classes")
    with pytest.raises(InputError) as caught:
        synthlab.load_model(record.config.id, tmp_path)
    why = "is not imported, and reading a record imports nothing; in Python, import own_classes first"
    assert caught.value.lines == (f"{named}: {why}",)
    assert "own_classes" not in sys.modules
    importlib.import_module("own_classes")
    model = synthlab.load_model(record.config.id, tmp_path)
    assert same(model, record.model())
    assert model.predict(["0110"]).answer.shape == (1,)


RECORD = tiny("encoding=learned", "encoding.table=20")
OTHER = tiny("encoding=learned", "encoding.table=21")


def test_weights_of_other_models_are_refused():
    module = RECORD.model().module
    others = {r"size mismatch for encoding.vectors: .*\[1, 21, 8\]": OTHER.model().module, "Missing key": module.blocks}
    for message, other in others.items():
        with pytest.raises(InputError, match=f"^the weights of record .* cannot be loaded .*{message}"):
            with_weights(RECORD, copy_weights(other, 0, 1)).model()


def test_a_model_is_trained_once_and_opened_by_its_identity(tmp_path):
    asked = {**QUICK, "task": "sum", "results": tmp_path, "progress": False}
    first = synthlab.train(**asked, seed=3)
    made = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*")}
    for model in (synthlab.train(**asked, seed=3), synthlab.load_model(first.record.config.id, tmp_path)):
        assert same(model, first)
        assert isinstance(model, synthlab.TrainedModel)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*")} == made
    assert same(synthlab.load_model(with_weights(first.record, None)), first)
    with pytest.raises(InputError, match="seeds=3: one model has one; give seed"):
        synthlab.train(**asked, seeds=3)
    with pytest.raises(InputError, match="there is no such record"):
        synthlab.load_model("0123456789abcdef", tmp_path)
