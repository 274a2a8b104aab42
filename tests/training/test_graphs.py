"""Captured training steps, as far as a machine without a GPU can tell: what is drawn, what is replayed.

On a GPU ``test_devices.py`` compares the trained models.
"""

import subprocess
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
import torch

from support.configs import config, small, small_sequences
from synthlab.training import graphs
from synthlab.training.graphs import WARM, Replayable, Replayed

RUNS = {
    "numbers": lambda seed: config("task=length", "outrep=rsqrt", seed),
    "curriculum": lambda seed: config("task=length", "curriculum.start=2", seed),
    "random positions": lambda seed: config("encoding=randomized", seed),
    "a learned map": lambda seed: config("task=length", "outrep=box_cox", seed),
    "sequences": lambda seed: small_sequences("task=copy", seed),
    "sampled positions": lambda seed: small_sequences("task=copy", "positions=randpos", seed),
    "language": lambda seed: small("encoding=rope", seed),
    "random language": lambda seed: small("encoding=randomized", seed),
}


def objectives(name: str) -> list[Replayable]:
    configs = [RUNS[name](f"seed={seed}") for seed in range(2)]
    return [
        configs[0].load_family().make_objective(configs[0].load_family().build_models(configs), configs)
        for _ in range(2)
    ]


@pytest.mark.parametrize("name", RUNS)
def test_an_objective_computes_from_what_it_draws_what_it_computes_at_once(name):
    one, other = objectives(name)
    assert isinstance(one, Replayable)
    shapes = set()
    for _ in range(3):
        inputs = other.draw()
        assert torch.equal(one(), other(*inputs))
        shapes.add(tuple(None if each is None else tuple(each.shape) for each in inputs))
    assert len(shapes) == 1 or not other.is_static


def test_two_windows_have_offsets_of_their_own_and_are_not_captured():
    made = small("alignment.windows=2", "alignment.alpha=0.1")
    objective = made.load_family().make_objective(made.load_family().build_models([made]), [made])
    assert isinstance(objective, Replayable)
    assert not objective.is_static


class FakeGraph:
    """Runs again, on the tensors of its capture, what was run while it was captured."""

    def replay(self):
        self.losses.copy_(self.step(*self.held))


@pytest.fixture
def cuda(monkeypatch):
    """A CUDA that captures by remembering the step."""

    class Stream:
        def wait_stream(self, other):
            pass

    @contextmanager
    def capture(graph, **how):
        yield
        graph.captured = True

    fakes = {"Stream": Stream, "current_stream": Stream, "stream": lambda _: nullcontext(), "CUDAGraph": FakeGraph}
    for name, fake in {**fakes, "graph": capture, "synchronize": lambda: None}.items():
        monkeypatch.setattr(torch.cuda, name, fake)


def square_sum(x, y):
    return (x * x).sum(1) if y is None else (x * y).sum(1)


def test_a_step_is_captured_for_each_shape_after_a_few_and_replayed_on_new_inputs(cuda, monkeypatch):
    calls = []

    def step(x, y):
        calls.append(x.shape)
        return square_sum(x, y)

    take = Replayed(step, lambda losses: losses, 0)
    add = graphs._Graph

    def remember(graph, inputs, losses):
        graph.step, graph.held, graph.losses = square_sum, [*inputs, None][:2], losses
        return add(graph, inputs, losses)

    monkeypatch.setattr(graphs, "_Graph", remember)
    for number in range(8):
        x = torch.full((2, 3), float(number))
        assert take(x, None).tolist() == [3.0 * number**2] * 2
        assert len(calls) == min(number, WARM) + 1  # those as they are, and the capture
    before = take(torch.ones(2, 3), None)
    take(torch.zeros(2, 3), None)
    assert before.tolist() == [3.0, 3.0]  # a later replay leaves what was returned
    take(torch.ones(2, 5), None)
    assert len(take.graphs) == 1
    assert calls[-1] == (2, 5)


ONE_GRAPH = """
import torch
from training.test_graphs import RUNS, objectives
for name in RUNS:
    one, other = objectives(name)
    compiled = torch.compile(one.__call__, backend="aot_eager", fullgraph=True, dynamic=False)
    inputs = one.draw()
    torch.testing.assert_close(compiled(*inputs), other(*inputs))
"""


@pytest.mark.slow
def test_objectives_are_one_graph_each_to_a_compiler():
    # In a process of its own: a compiler cannot follow the tests' checks of shapes.
    subprocess.run([sys.executable, "-c", ONE_GRAPH], check=True, cwd=Path(__file__).parents[1])


def test_a_long_training_is_compiled_before_it_is_captured(cuda, monkeypatch):
    compiled = []

    def compile_(objective, **how):
        compiled.append(how)
        return lambda x: 2 * objective(x)

    monkeypatch.setattr(torch, "compile", compile_)
    x = torch.ones(2, 3, 4, requires_grad=True)
    monkeypatch.setattr(graphs, "PAYS", 100.0)
    found = {work: Replayed(lambda x: x.sum((1, 2)), lambda losses: losses.detach(), work) for work in (8, 9)}
    for work, take in found.items():
        losses = [take(x).tolist() for _ in range(WARM)]
        assert losses == [[12.0, 12.0]] * (WARM - 1) + [[24.0, 24.0] if work == 9 else [12.0, 12.0]]
    assert len(compiled) == 1


def test_a_step_that_cannot_be_compiled_trains_as_it_is(cuda, monkeypatch, capsys):
    def fail(*given, **how):
        raise RuntimeError("no C compiler")

    monkeypatch.setattr(torch, "compile", fail)
    monkeypatch.setattr(graphs, "PAYS", 0.0)
    take = Replayed(lambda x: x.sum((1, 2)), lambda losses: losses, 1)
    assert [take(torch.ones(2, 3, 4)).tolist() for _ in range(WARM)] == [[12.0, 12.0]] * WARM
    wanted = "device=cuda: trains without compiling, and so slower (RuntimeError: no C compiler)\n"
    assert capsys.readouterr().err == wanted


def test_a_step_that_cannot_be_captured_trains_as_it_is_with_a_line_that_says_so(cuda, capsys):
    calls = []

    def step(x):
        calls.append(1)
        if len(calls) == WARM + 1:
            raise RuntimeError("operation not permitted when stream is capturing")
        return x.sum(1)

    take = Replayed(step, lambda losses: losses, 0)
    for _ in range(WARM + 3):
        assert take(torch.ones(2, 3)).tolist() == [3.0, 3.0]
    line = "device=cuda: trains without a CUDA graph, and so slower (RuntimeError: operation not permitted when stream "
    assert capsys.readouterr().err == line + "is capturing)\n"
    assert len(calls) == WARM + 4
