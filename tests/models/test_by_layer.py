"""Encodings by layer and windows: each layer computes by its own encoding, in every layout."""

from functools import partial

import pytest
import torch

from support.configs import composed, config
from support.models import DIMS, at, build, model, symbols, texts
from synthlab.errors import InputError
from synthlab.models import transformer
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.language_model import LanguageModel, ReferenceLanguageModel
from synthlab.models.layers import ensemble_parameter, init_normal
from synthlab.models.reference import predict_prefixes
from synthlab.runs.composition import compose, to_overrides
from synthlab.runs.run import resolve

MIXED = ["t5", {"name": "window", "width": 3, "inner": {"name": "rope", "base": 100.0}}, "alibi"]


class Slope(Encoding):
    """A slope that each layer learns."""

    for_each_layer = True

    def __init__(self, dims, /):
        super().__init__()
        self.slope = ensemble_parameter(dims.models, 1, 1, 1, 1)

    def initialise(self, generators):
        init_normal(self.slope, 1.0, generators)

    def bias(self, query, key):
        return self.slope * (key - query).unsqueeze(-3)


def by_layer(layers: list, dims: Dims) -> Encoding:
    return ENCODINGS.build({"name": "by_layer", "layers": layers}, dims)


def test_a_packed_layer_has_its_own_encoding(monkeypatch):
    net, x = model(partial(by_layer, MIXED), depth=4), symbols()
    alone = predict_prefixes(net, x[0])
    torch.testing.assert_close(net(x)[0], alone)
    monkeypatch.setattr(transformer, "TABLE_LENGTH", 0)
    torch.testing.assert_close(net(x)[0], alone)
    for place, name in enumerate(["t5", "window", "alibi", "t5"]):  # each is used, and by its own layer
        others = list(net.encoding.places)
        net.encoding.places[place] = 1 if name != "window" else 0
        assert not torch.allclose(net(x)[0], alone)
        net.encoding.places[:] = others


def test_language_models_have_the_same_layers():
    net, plain = (model(partial(by_layer, MIXED), 1, made, depth=4) for made in (LanguageModel, ReferenceLanguageModel))
    x = texts()
    torch.testing.assert_close(net(x, last=2), plain(x)[:, :, -2:])
    ragged = net.without_padding(x, None, torch.tensor([[4, 9, 1]]))
    torch.testing.assert_close(ragged[:, 0, :4], plain(x)[:, 0, :4])


@pytest.mark.parametrize("name", ["rope", "t5", "learned"])
def test_one_encoding_by_layer_is_that_encoding(name):
    x = symbols(2)
    alike = [model(make, models=2, depth=4) for make in (partial(build, name), partial(by_layer, [name]))]
    assert torch.equal(alike[0](x), alike[1](x))


def test_a_class_says_whether_layers_share_it():
    shared = model(partial(by_layer, ["t5", "nope"]), depth=4).encodings()
    assert shared[0] is shared[2]
    assert shared[1] is shared[3]
    own = model(Slope, depth=4)
    slopes = [each.slope.item() for each in own.encodings()]
    assert len(set(slopes)) == 4
    x = symbols()
    torch.testing.assert_close(own(x)[0], predict_prefixes(own, x[0]))


def test_a_window_by_hand():
    window = build("window", width=2, inner={"name": "alibi"})
    bias = window.bias(at(3).unsqueeze(-1), at(0, 1, 2, 3).unsqueeze(-2))
    assert bias[0, 0, 0, 0].tolist() == [-torch.inf, -torch.inf, -(2.0**-4), 0]


def test_a_layer_reaches_as_far_as_its_window():
    window = {"name": "window", "width": 3, "inner": {"name": "nope"}}
    net = model(partial(by_layer, [window]), made=LanguageModel)
    x = torch.zeros(1, 1, 9, dtype=torch.long)
    changed = x.clone()
    changed[..., 0] = 1
    differs = (net(x) != net(changed)).any(-1)[0, 0]
    assert differs.tolist() == [True] * 5 + [False] * 4  # two layers of two tokens back


@pytest.mark.parametrize(
    ("layers", "line"),
    [
        (["rope", "rop"], "encoding.layers.1=rop: unknown, did you mean rope"),
        ([{"name": "rope", "bass": 1.0}], "encoding.layers.0.bass=1.0: unknown key, did you mean base"),
        (["nope", "learned"], "encoding.layers.1=learned: adds to token embeddings"),
        (["randomized"], "encoding.layers.0=randomized: draws positions"),
        (["nope"] * 3, "encoding.layers: names 3 layers; must be at most model.depth=2"),
        (["by_layer"], "encoding.layers.0=by_layer: must be an encoding of one layer"),
    ],
)
def test_layers_that_do_not_fit_are_refused(layers, line):
    with pytest.raises(InputError, match=line):
        by_layer(layers, Dims(8, 2, depth=2))


def test_what_cannot_be_inside_another_is_refused():
    with pytest.raises(InputError, match="encoding.inner=by_layer: must be one for all layers"):
        build("window", inner={"name": "by_layer", "layers": ["nope"]})
    with pytest.raises(InputError, match="model.attention=linear: this encoding needs softmax"):
        config("encoding=window", "model.attention=linear")


def test_settings_of_layers_are_written_out():
    words = to_overrides({"encoding": {"name": "by_layer", "layers": ["nope", {"name": "window", "width": 4}]}})
    made = resolve(compose(["task=copy", "model.depth=2", *words]))
    rope = {"name": "rope", "base": 10_000.0}
    assert made.encoding["layers"] == [{"name": "nope"}, {"name": "window", "width": 4, "inner": rope}]
    assert resolve(composed("task=copy", "model.depth=2") | {"encoding": made.encoding}).id == made.id


def test_a_broken_law_of_a_layer_names_its_class():
    with pytest.raises(InputError, match="encoding.layers=support.lawless:SeesTheFuture: breaks a law"):
        resolve(compose(["task=length", "encoding=by_layer", "encoding.layers=[support.lawless:SeesTheFuture]"]))


def test_random_positions_may_surround_layers():
    inner = {"name": "by_layer", "layers": [{"name": "sinusoidal", "base": 100.0}, {"name": "alibi"}]}
    made = build("randomized", DIMS._replace(depth=2), inner=inner)
    assert made.draws_positions
    assert [type(made.at_layer(layer)).__name__ for layer in (0, 1)] == ["Sinusoidal", "ALiBi"]
