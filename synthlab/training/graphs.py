"""Training steps on a GPU: captured once in a CUDA graph and replayed, on examples that are drawn ahead.

A small model's step is some 400 operations that each take the GPU a few microseconds, and the processor longer to
start. A graph starts them all at once. It holds addresses and shapes, so whatever differs between steps is copied into
the same tensors before each replay: examples, positions, weights of lengths, the learning rate. Steps whose inputs have
another shape get a graph of their own. A step that cannot be captured trains as it is on a processor.

Long trainings are compiled before they are captured, which joins small operations into larger ones.
"""

import math
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Empty, Queue
from threading import Event
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from synthlab.errors import format_error
from synthlab.output import print_err
from synthlab.runs.sources import is_lab_module

WARM = 3  # steps of a shape before it is captured: the first ones make what later ones use again
AHEAD = 64  # steps whose inputs are drawn ahead
MOST = 8  # graphs of one training; each holds the activations of a step
# Products of a parameter and a token, in all steps, from which compiling saves more than the 10 to 30 s that it takes:
# between 6e13 and 9e13 for each of four models on an H200 (docs/speed.md).
PAYS = 7e13
Inputs = Sequence[Tensor | None]


class _Graph(NamedTuple):
    graph: torch.cuda.CUDAGraph
    inputs: list[Tensor]  # what a replay reads
    losses: Tensor  # what it writes


class Replayed:
    """A training step, called with inputs, that is captured for each of their shapes and replayed from then on.

    It computes the losses of ``objective`` and gives them to ``update``. ``work`` is the number of parameters of all
    models, times that of steps.
    """

    def __init__(self, objective: Callable[..., Tensor], update: Callable[[Tensor], Tensor], work: int):
        self.objective, self.update, self.work, self.stream = objective, update, work, torch.cuda.Stream()
        self.compute = objective
        self.graphs: dict[tuple[Any, ...], _Graph] = {}
        self.seen: Counter[tuple[Any, ...]] = Counter()
        self.captures = True

    def step(self, *inputs: Tensor | None) -> Tensor:
        return self.update(self.compute(*inputs))

    def __call__(self, *inputs: Tensor | None) -> Tensor:
        key = tuple(None if each is None else (each.shape, each.dtype) for each in inputs)
        given = [each for each in inputs if each is not None]
        if key in self.graphs:
            graph, held, losses = self.graphs[key]
            torch._foreach_copy_(held, given)  # pyright: ignore[reportPrivateImportUsage]  # no public function
            graph.replay()
            return losses.clone()
        self.seen[key] += 1
        if self.seen[key] == WARM and pays(self.work, inputs) and self.compute is self.objective:
            self._compile(inputs)
        if self.captures and self.seen[key] > WARM and len(self.graphs) < MOST and self._capture(key, inputs):
            return self(*inputs)
        if self.compute is not self.objective:
            inputs = tuple(_hold(inputs))  # another layout would be compiled anew
        # Gradients are summed up on the stream of the forward pass, so steps before a capture are not on another.
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            losses = self.step(*inputs)
        torch.cuda.current_stream().wait_stream(self.stream)
        return losses

    def _compile(self, inputs: Inputs) -> None:
        """Compile the objective, for the following steps; leave it as it is if it cannot be."""
        try:
            torch.compiler.reset()  # forget earlier ensembles, whose number has a limit
            compiled = torch.compile(self.objective.__call__, fullgraph=True, dynamic=False)
            inputs = _hold(inputs)
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                compiled(*inputs).sum().backward()
            self.compute = compiled
        except Exception as error:  # for one, there is no C compiler
            print_err(f"device=cuda: trains without compiling, and so slower ({format_error(error)})")

    def _capture(self, key: tuple[Any, ...], inputs: Inputs) -> bool:
        """Capture the step for inputs of one shape, without taking it; return False if it cannot be."""
        held = _hold(inputs)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        try:
            # Another thread may draw the next examples meanwhile.
            with torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"):
                losses = self.step(*held)
        except Exception as error:
            self.captures = False
            torch.cuda.synchronize()
            print_err(f"device=cuda: trains without a CUDA graph, and so slower ({format_error(error)})")
            return False
        self.graphs[key] = _Graph(graph, [each for each in held if each is not None], losses)
        return True


def _hold(inputs: Inputs) -> list[Tensor | None]:
    return [None if each is None else each.clone(memory_format=torch.contiguous_format) for each in inputs]


@runtime_checkable
class Replayable(Protocol):
    """An objective that draws its inputs apart, and computes the losses [E] from them by the same operations.

    ``model`` is the ensemble. If ``is_static``, the operations depend on the shapes of the inputs alone. ``draw``
    returns the inputs of the next step, on the device of the ensemble; a call without inputs draws them itself.
    """

    @property
    def model(self) -> nn.Module: ...

    @property
    def is_static(self) -> bool: ...

    def draw(self) -> Inputs: ...

    def __call__(self, *inputs: Tensor | None) -> Tensor: ...


def pays(work: int, inputs: Inputs) -> bool:
    """Return True if compiling saves more time than it takes; ``work`` is that of ``Replayed``."""
    places = [each.shape[1:3] for each in inputs if each is not None and each.dim() > 2]
    return work * max(map(math.prod, places), default=0) > PAYS


@contextmanager
def replay(objective: Replayable, update: Callable[[Tensor], Tensor], work: int) -> Generator[Callable[[], Tensor]]:
    """Give a function that takes the next training step on a GPU and returns its losses.

    Another thread draws the inputs of up to ``AHEAD`` steps while the GPU computes, so more than there are steps.
    """
    # A graph would run the Python code of a user's class only once.
    lab = all(is_lab_module(type(module).__module__) for module in objective.model.modules())
    replayed = Replayed(objective, update, work)
    take = replayed if objective.is_static and lab else replayed.step
    drawn: Queue[tuple[Inputs, torch.cuda.Event] | Exception] = Queue(AHEAD)
    stream, ended = torch.cuda.Stream(), Event()

    def draw() -> None:
        try:
            with torch.cuda.stream(stream):
                while not ended.is_set():
                    inputs, ready = objective.draw(), torch.cuda.Event()
                    ready.record()
                    drawn.put((inputs, ready))
        except Exception as error:  # raised where the inputs are taken
            drawn.put(error)

    def take_next() -> Tensor:
        found = drawn.get()
        if isinstance(found, Exception):
            raise found
        inputs, ready = found
        torch.cuda.current_stream().wait_event(ready)
        for each in inputs:
            if each is not None:
                each.record_stream(torch.cuda.current_stream())
        return take(*inputs)

    with ThreadPoolExecutor(1) as pool:
        drawing = pool.submit(draw)
        try:
            yield take_next
        finally:
            ended.set()
            while not drawing.done():
                with suppress(Empty):
                    drawn.get(timeout=0.01)
