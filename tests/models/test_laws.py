"""The laws that the lab measures of a user's classes hold for its own, and are broken by classes that break them."""

import pytest
import torch

from support.configs import composed, config
from support.models import VOCABULARY, model
from synthlab.errors import InputError
from synthlab.models import laws
from synthlab.models.encodings import ENCODINGS
from synthlab.models.language_model import LanguageModel
from synthlab.models.laws import measure_model
from synthlab.numbers.family import measure_map
from synthlab.numbers.outrep import OUTREPS
from synthlab.runs.run import resolve

# The other files here hold each encoding equal to the reference; one of a sort shows that sound ones are not refused.
SORTS = ("learned", "rope", "t5", "fox", "cope", "threshold", "transformer_xl", "dynamic_ntk", "randomized", "by_layer")


@pytest.mark.parametrize(
    "name", [name if name in SORTS else pytest.param(name, marks=pytest.mark.slow) for name in ENCODINGS]
)
def test_every_encoding_keeps_the_laws_in_both_models(name):
    language = model(name, made=LanguageModel)
    for net, symbols in ((model(name), 2), (language, VOCABULARY)):
        found = list(measure_model(net, symbols))
        assert [law for law in found if not law.holds] == []
        assert len(found) == (3 if net.encoding.packs else 2) + (net is language and net.encoding.packs)
        assert net.training


@pytest.mark.parametrize("name", OUTREPS)
def test_every_map_keeps_the_laws(name):
    made = resolve(composed("task=length", f"outrep={name}"))
    found = list(made.load_family().measure_laws(made))
    assert {law.field for law in found} == {"encoding", "outrep"}
    assert [law for law in found if not law.holds] == []


@pytest.mark.parametrize("task", ["length", "copy", "text"])
@pytest.mark.parametrize(
    ("name", "number", "other"),
    [
        ("SeesTheFuture", "a prefix has the outputs that it has alone", "no output depends on a later token"),
        ("MixesTokens", "a prefix has the outputs that it has alone", "texts in one row do not see each other"),
    ],
)
def test_an_encoding_that_breaks_a_law_is_refused(task, name, number, other):
    raw = composed(f"task={task}", "model.width=16", "model.heads=2", f"encoding=support.lawless:{name}")
    with pytest.raises(InputError) as refused:
        resolve(raw)
    says = number if task == "length" else other
    begins = f"encoding=support.lawless:{name}: breaks a law: {says} (relative error "
    assert refused.value.lines[0].startswith(begins)
    assert float(refused.value.lines[0].removeprefix(begins).rstrip(")")) > 0.01


@pytest.mark.parametrize("name", ["MultipliesItself", "AddsUpItself"])
def test_what_takes_a_row_for_a_text_is_refused_where_rows_are_packed(name):
    says = f"encoding=support.lawless:{name}: breaks a law: a prefix has the outputs that it has alone"
    with pytest.raises(InputError, match=says):
        resolve(composed("task=length", f"encoding=support.lawless:{name}"))
    resolve(composed("task=copy", f"encoding=support.lawless:{name}"))  # a row has one text, or whole ones


@pytest.mark.parametrize("name", ["Twice", "Sine"])
def test_a_map_that_does_not_undo_itself_is_refused(name):
    says = rf"outrep=support.lawless:{name}: breaks a law: the inverse of f\(y\) is y, for the task's targets y"
    with pytest.raises(InputError, match=says):
        config("task=length", f"outrep=support.lawless:{name}")


def test_a_model_that_sees_the_future_is_refused():
    with pytest.raises(InputError, match="model=support.lawless:Backwards: breaks a law: no output depends on a later"):
        resolve(composed("task=copy", "model=support.lawless:Backwards"))
    resolve(composed("task=copy", "model=support.lawless:Recurrent"))


def test_a_model_that_mixes_rows_is_refused():
    says = "a sequence has the outputs that it has without others beside it"
    with pytest.raises(InputError, match=f"model=support.lawless:MixesRows: breaks a law: {says}"):
        resolve(composed("task=copy", "model=support.lawless:MixesRows"))


@pytest.mark.parametrize("task", ["mean", "copy", "text"])
def test_an_encoding_that_depends_on_the_length_is_refused(task):
    with pytest.raises(InputError, match="breaks a law: a prefix has the outputs that it has alone"):
        resolve(composed(f"task={task}", "encoding=support.lawless:ScalesByLength"))


def test_what_only_rounding_breaks_is_sound():
    deep = ("model.norm=none", "model.width=128", "model.depth=16")
    resolve(composed("task=mean", "encoding=support.lawless:Plain", *deep))


def test_a_class_is_measured_once_for_all_seeds_and_protocols(monkeypatch):
    calls = []
    monkeypatch.setattr(laws, "_compare", lambda *_: calls.append(1) or iter(()))
    for given in ((), ("seed=7",), ("protocol.lr=0.1",)):
        config("task=length", "encoding=support.user_classes:Backwards", "encoding.strength=0.125", *given)
    assert len(calls) == 2  # with and without noise
    config("task=length", "encoding=alibi")
    assert len(calls) == 2


def test_laws_of_a_map_by_hand():
    made = OUTREPS.build({"name": "rsqrt", "shift": 1.0})
    inverse, way, image = measure_map(made, torch.tensor([3.0, 0.0]))
    assert max(inverse.missed_by, way.missed_by, image.missed_by) < 1e-12
    assert (way.text, way.holds) == ("f decreases strictly over the task's targets", True)
    made.shift = -1.0  # 1/sqrt(-1) is no number
    assert next(law.missed_by for law in measure_map(made, torch.tensor([3.0, 0.0]))) == 1.0
