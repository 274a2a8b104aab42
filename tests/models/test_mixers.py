"""Mixers in place of attention, and loops, against torch's own and plain readings, in every layout."""

from functools import partial

import pytest
import torch

from support.configs import composed, config, small
from support.models import model, symbols, texts
from synthlab import train
from synthlab.errors import InputError
from synthlab.models import attention
from synthlab.models.encodings.base import Dims
from synthlab.models.language_model import LanguageModel, ReferenceLanguageModel
from synthlab.models.laws import measure_model
from synthlab.models.layers import ensemble_parameter, init_normal
from synthlab.models.mixers import MIXERS, Mixer
from synthlab.models.mixers.delta import DeltaNet
from synthlab.models.mixers.gated import GRU, LSTM
from synthlab.models.mixers.linear import RGLRU, Mamba, MinGRU
from synthlab.models.mixers.stack import StackRNN
from synthlab.models.reference import predict_prefixes, read
from synthlab.models.transformer import Reference, Transformer
from synthlab.numbers.family import build_models
from synthlab.runs.composition import compose, to_overrides
from synthlab.runs.run import config_of, resolve

network = partial(model, width=8, heads=2)


class Shift(Mixer):
    """A class of the user without a state: each token and the one before it."""

    def __init__(self, dims, /):
        super().__init__()
        self.weight = ensemble_parameter(dims.models, 1, 1, dims.width)

    def initialise(self, generators):
        init_normal(self.weight, 1.0, generators)

    def forward(self, h):
        return self.weight * torch.nn.functional.pad(h, (0, 0, 1, 0))[:, :, :-1]


class Backwards(Shift):
    """Breaks a law: it reads the token after each."""

    def forward(self, h):
        return self.weight * torch.nn.functional.pad(h, (0, 0, 0, 1))[:, :, 1:]


NEGATIVE = {"name": "delta", "negative": True}
OWN = {"name": f"{__name__}:Shift"}
EACH = [*({"name": name} for name in MIXERS), NEGATIVE, OWN]
named = pytest.mark.parametrize("mixer", EACH, ids=lambda mixer: "-".join(map(str, mixer.values())))


def hidden(models: int = 1, width: int = 8, length: int = 7) -> torch.Tensor:
    return torch.randn(models, 3, length, width, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("made", "theirs"), [(GRU, torch.nn.GRU), (LSTM, torch.nn.LSTM)])
def test_gated_networks_equal_those_of_torch(made, theirs):
    ours, h = made(Dims(8, 2, models=2)), hidden(2)
    draws = [torch.Generator().manual_seed(seed) for seed in range(2)]
    for parameter in ours.parameters():
        init_normal(parameter, 0.5, draws)
    outputs = ours(h)
    for e in range(2):
        plain = theirs(8, 8, batch_first=True)
        own = (ours.inputs.weight[e].mT, ours.states.weight[e].mT, ours.inputs.bias[e, 0], ours.states.bias[e, 0])
        for parameter, values in zip(plain.parameters(), own, strict=True):
            parameter.data.copy_(values)
        torch.testing.assert_close(outputs[e], plain(h[e])[0])


def shaken(mixer: Mixer) -> Mixer:
    """With parameters other than the initial ones."""
    generator = torch.Generator().manual_seed(3)
    for parameter in mixer.parameters():
        init_normal(parameter, 0.7, [generator])
    return mixer.double()


def applied(layer, x: torch.Tensor) -> torch.Tensor:
    return x @ layer.weight[0] + layer.bias[0, 0]


def softplus(x: torch.Tensor) -> torch.Tensor:
    return (1 + x.exp()).log()


def step_of_min_gru(mixer: MinGRU, x: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    z, v = applied(mixer.inputs, x).split(8)
    state = (1 - z.sigmoid()) * state + z.sigmoid() * v
    return state, state


def step_of_rg_lru(mixer: RGLRU, x: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    x, branch = applied(mixer.inputs, x).split(8)
    r, i = applied(mixer.gates, x).sigmoid().split(8)
    a = mixer.rates[0, 0, 0].sigmoid() ** (8 * r)
    state = a * state + (1 - a**2).sqrt() * (i * x)
    return applied(mixer.put_out, state * torch.nn.functional.gelu(branch)), state


def step_of_mamba(mixer: Mamba, x: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    x, z = applied(mixer.inputs, x).chunk(2)
    x = x * x.sigmoid()
    low, enter, leave = applied(mixer.selection, x).split([4, *2 * [mixer.log_decay.shape[-1]]])
    d = softplus(applied(mixer.steps, low))
    y, after = [], []
    for n in range(len(x)):  # the discretization of the authors: exact for A, Euler's for B
        a = torch.exp(d[n] * -mixer.log_decay[0, 0, 0, n].exp())
        a = 2 * a - 1 if mixer.negative else a
        after.append(a * (state[n] if state.dim() else state) + d[n] * enter * x[n])
        y.append(leave @ after[-1] + mixer.through[0, 0, 0, n] * x[n])
    return applied(mixer.put_out, torch.stack(y) * z * z.sigmoid()), torch.stack(after)


def step_of_delta(mixer: DeltaNet, x: torch.Tensor, state: torch.Tensor, largest: float = 1.0) -> tuple:
    q, k, v = torch.nn.functional.silu(applied(mixer.inputs, x)).view(3, 2, 4)
    b = largest * applied(mixer.rates, x).sigmoid()
    heads, after = [], []
    for n in range(2):
        query, key = q[n] / q[n].norm(), k[n] / k[n].norm()
        forget = torch.eye(4, dtype=torch.double) - b[n] * torch.outer(key, key)
        before = state[n] if state.dim() else torch.zeros_like(forget)
        after.append(before @ forget + b[n] * torch.outer(v[n], key))
        out = after[-1] @ query
        heads.append(out / (out.square().mean() + 1e-5).sqrt())
    return applied(mixer.put_out, torch.cat(heads)), torch.stack(after)


@pytest.mark.parametrize(
    ("made", "step"),
    [
        (DeltaNet, step_of_delta),
        (partial(DeltaNet, negative=True), partial(step_of_delta, largest=2.0)),
        (MinGRU, step_of_min_gru),
        (RGLRU, step_of_rg_lru),
        (partial(Mamba, expand=2), step_of_mamba),
        (partial(Mamba, negative=True, states=4), step_of_mamba),
    ],
)
@pytest.mark.parametrize("length", [1, 2, 7, 12])
def test_linear_recurrences_by_their_equations(made, step, length):
    mixer, h = shaken(made(Dims(8, 2, models=1))), hidden(length=length).double()
    outputs = mixer(h)
    for row in range(3):
        state = torch.zeros((), dtype=torch.double)
        for t, x in enumerate(h[0, row]):
            expected, state = step(mixer, x, state)
            torch.testing.assert_close(outputs[0, row, t], expected)


def test_a_stack_by_its_equations():
    mixer, h = shaken(StackRNN(Dims(8, 2, models=1), stacks=2, cells=3)), hidden().double()
    outputs = mixer(h)
    for row in range(3):
        state, stacks = torch.zeros(8, dtype=torch.double), [[], []]  # lists of vectors, from the top on
        empty = torch.zeros(3, dtype=torch.double)
        for t, x in enumerate(h[0, row]):
            top = torch.cat([stack[0] if stack else empty for stack in stacks])
            state = (applied(mixer.inputs, x) + applied(mixer.states, torch.cat((state, top)))).relu()
            values = applied(mixer.values, state).split(3)
            for n, value in enumerate(values):
                push, pop, stay = (mixer.actions[0, 0, n] @ state).exp() / (mixer.actions[0, 0, n] @ state).exp().sum()
                old = [*stacks[n], empty, empty]
                stacks[n] = [push * ([value, *old][k]) + pop * old[k + 1] + stay * old[k] for k in range(t + 1)]
            torch.testing.assert_close(outputs[0, row, t], state)


def test_a_stack_keeps_all_that_was_pushed():
    """Always pushed, then always popped, values come back in reverse, however many there are."""
    mixer = StackRNN(Dims(1, 1, models=1), cells=1)
    x, state = torch.arange(0.1, 0.7, 0.1), mixer.start(torch.zeros(1, 1, 12, 1))
    for parameter in mixer.parameters():
        parameter.data.zero_()
    mixer.actions.data[0, 0, 0, :, 0] = torch.tensor([1e4, 0.0, 0.0])
    mixer.values.weight.data.fill_(1.0)
    for each in x:
        _, state = mixer.step(each.view(1, 1, 1), state)
    mixer.actions.data.copy_(mixer.actions.data.roll(1, 3))
    for each in x.flip(0):
        torch.testing.assert_close(state[1][0, 0, 0, 0, 0], each)
        _, state = mixer.step(torch.full((1, 1, 1), 0.5), state)


def test_initial_rates_are_those_of_the_papers():
    dims, generators = Dims(64, 2, models=2), [torch.Generator().manual_seed(seed) for seed in range(2)]
    griffin, mamba = RGLRU(dims), Mamba(dims, states=4)
    for mixer in (griffin, mamba):
        mixer.initialise(generators)
    decay = griffin.rates.sigmoid() ** 8
    assert 0.9 < decay.min() < 0.92 < 0.98 < decay.max() < 0.999
    assert (mamba.log_decay.exp() - torch.arange(1.0, 5)).abs().max() < 1e-5
    steps = softplus(mamba.steps.bias)
    assert 1e-3 < steps.min() < 1.3e-3 < 0.08 < steps.max() < 0.1


@named
def test_every_mixer_keeps_the_laws(mixer):
    """Causal; packed prefixes, ragged rows and rows beside others have the outputs that each text has alone."""
    language = network(made=LanguageModel, mixer=mixer)
    for net, kinds in ((network(mixer=mixer), 2), (network(mixer=mixer, encoding="learned"), 2), (language, 5)):
        assert [law for law in measure_model(net, kinds) if not law.holds] == []


@named
@pytest.mark.parametrize(("depth", "loops"), [(1, 1), (2, 1), (1, 3), (2, 2)])
def test_packed_prefixes_are_read_as_each_alone(mixer, depth, loops):
    how = {"mixer": mixer, "depth": depth, "loops": loops, "models": 2}
    net, plain, x = network(**how).double(), network(made=Reference, **how).double(), symbols(2)
    outputs = net(x)
    torch.testing.assert_close(outputs, plain(x))
    assert outputs.std() > 1e-3
    changed = x.clone()
    changed[..., 0] = 1 - x[..., 0]
    assert (net(changed) != outputs)[..., 0].all()


@named
def test_gradients_of_packed_rows_are_those_of_each_prefix(mixer):
    gradients = []
    for made in (Transformer, Reference):
        net = network(made=made, mixer=mixer)
        net(symbols()).square().sum().backward()
        gradients.append([parameter.grad for parameter in net.parameters()])
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


@named
def test_language_models_are_read_as_each_text_alone(mixer):
    net, plain = (network(made=made, mixer=mixer) for made in (LanguageModel, ReferenceLanguageModel))
    x = texts()
    torch.testing.assert_close(net(x), plain(x))
    torch.testing.assert_close(net(x, last=2), plain(x)[:, :, -2:])
    ragged = net.without_padding(x, None, torch.tensor([[4, 9, 1]]))
    for row, size in enumerate((4, 9, 1)):
        torch.testing.assert_close(ragged[:, row, :size], plain(x[:, row : row + 1, :size])[:, 0])


@pytest.mark.parametrize("encoding", ["nope", "alibi", "rope", "learned", "fox"])
def test_a_looped_model_repeats_its_blocks_and_adds_the_embeddings(encoding):
    net = network(loops=3, encoding=encoding)
    x = symbols()
    torch.testing.assert_close(net(x)[0], predict_prefixes(net, x[0]))
    language = network(made=LanguageModel, loops=3, encoding=encoding)
    tokens = texts(rows=2, length=6)
    torch.testing.assert_close(language(tokens)[0], read(language, tokens[0]))


def test_a_loop_by_hand():
    """The blocks of a looped model, called one after the other."""
    net = network(made=LanguageModel, loops=3, mixer={"name": "gru"}, depth=2)
    tokens = texts(rows=2, length=6)
    h = torch.zeros(())
    for _ in range(3):
        h = h + net.token_embeddings[0, tokens]
        for block in net.blocks:
            h = h + block.attention.mixer(block.pre1(h))
            h = h + block.mlp(block.pre2(h))
    torch.testing.assert_close(net(tokens), net.head(net.norm(h)))


SHORT = pytest.mark.parametrize("convolution", ["canon", "token_shift"])


@SHORT
@pytest.mark.parametrize("changed", [{}, {"mixer": {"name": "gru"}}, {"loops": 2}], ids=str)
def test_convolutions_keep_the_laws(convolution, changed):
    for net, kinds in (
        (network(convolution=convolution, **changed), 2),
        (network(made=LanguageModel, convolution=convolution, **changed), 5),
    ):
        laws = list(measure_model(net, kinds))
        assert len(laws) >= 3
        assert [law for law in laws if not law.holds] == []


@SHORT
def test_convolutions_by_hand(convolution):
    net, h = network(made=LanguageModel, convolution=convolution, models=2), hidden(2)
    layer = net.blocks[1].convolution
    found = layer(h, lambda n: torch.nn.functional.pad(h, (0, 0, n, 0))[:, :, : h.shape[2]])
    for e in range(2):
        if convolution == "canon":
            weights = [*layer.weights[e, :, 0, 0]]
            assert -0.5 < layer.weights.min() < 0 < layer.weights.max() < 0.5
            weights[0] = 1 + weights[0]
        else:
            assert layer.shares[e, 0, 0].tolist() == [n / 8 for n in range(8)]
            weights = [layer.shares[e, 0, 0], 1 - layer.shares[e, 0, 0]]
        for t in range(h.shape[2]):
            terms = [weights[n] * h[e, :, t - n] for n in range(len(weights)) if n <= t]
            torch.testing.assert_close(found[e, :, t], torch.stack(terms).sum(0))


def test_a_convolution_is_before_attention():
    net = network(made=LanguageModel, convolution="canon", depth=1)
    tokens = texts(rows=2, length=6)
    block, h = net.blocks[0], net.token_embeddings[0, tokens]
    plain = attention.Causal.build(net.encoding, torch.arange(6).view(1, 1, -1), attention.causal_mask(6, h.device))
    seen = block.pre1(h)
    h = h + block.attention(block.convolution(seen, partial(plain.shift, seen)), plain)
    torch.testing.assert_close(net(tokens), net.head(net.norm(h + block.mlp(block.pre2(h)))))


def test_mixers_are_part_of_the_identity():
    words = [
        "loops=1",
        "loops=2",
        "convolution=canon",
        "mixer=gru",
        "mixer=delta",
        "mixer={name: delta, negative: true}",
    ]
    made = [resolve(compose(["task=copy", f"model.{each}"])) for each in words]
    assert len({each.id for each in made}) == len(words)
    written = resolve(composed("task=copy", "model.loops=1", "model.mixer=attention", "model.convolution=none"))
    assert written.id == made[0].id
    assert not {"mixer", "loops", "convolution"} & written.model.keys()
    assert made[4].model["mixer"] == {"name": "delta", "negative": False}
    for each in made:
        assert config_of(each.model_dump()).id == each.id
        assert resolve(compose(["task=copy", *to_overrides({"model": each.model})])).id == each.id
    own = resolve(compose(["task=copy", f"model.mixer={OWN['name']}"]))
    assert own.model["mixer"]["source_hash"]
    assert resolve(own.model_dump()).id == own.id


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["model.mixer=gruu"], r"model.mixer=gruu: unknown, did you mean gru\?; choose from gru, lstm, delta, "),
        (["model.mixer={name: delta, negativ: true}"], "model.mixer.negativ=true: unknown key, did you mean negative"),
        (["model.loops=0"], "model.loops=0: must be greater than 0"),
        (["model.mixer=gru", "encoding=alibi"], "encoding=alibi: model.mixer=gru does not use it; leave encoding out"),
        (["model.mixer=gru", "model.attention=linear"], "model.attention=linear: model.mixer=gru has no attention"),
        (["task=text", "model.mixer=gru", "extension=yarn"], "extension=yarn: needs attention, not model.mixer=gru"),
        ([f"model.mixer={__name__}:Backwards"], f"model.mixer={__name__}:Backwards: breaks a law: no output depends"),
        (["model.mixer=synthlab.models.layers:Linear"], "must be a subclass of synthlab.models.mixers.base.Mixer"),
    ],
)
def test_what_does_not_fit_is_refused(words, line):
    with pytest.raises(InputError, match=line):
        resolve(compose(["task=length", *words] if "task=text" not in words else words))


def test_encodings_that_add_to_embeddings_are_used():
    made = config("model.mixer=gru", "encoding=sinusoidal")
    plain = config("model.mixer=gru")
    x = symbols()
    assert not torch.allclose(build_models([made])(x), build_models([plain])(x))
    small("model.mixer=gru")  # the default, rope, is left alone


def test_what_needs_attention_says_so(tmp_path):
    protocol, sizes = {"steps": 2, "record_every": 1}, {"mixer": "gru", "loops": 2}
    lengths = {"train_length": 5, "test_length": 10}
    trained = train(task="parity", model=sizes, protocol=protocol, results=str(tmp_path), progress=False, **lengths)
    assert "blocks.1.hook_attn_out" in trained.run_with_cache(["0110"])[1]
    with pytest.raises(InputError, match="this model has no attention to plot"):
        trained.plot_attention("0110")
