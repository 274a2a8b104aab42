"""Hostile calls of every public function: each returns, or is refused in short lines, and nothing is trained.

The law covers the functions and methods of docs/api.md that users call: what is added there is covered, as soon as
``SOUND`` has a sound call of it. The base classes of the page are left out. Users override their methods and the lab
calls them, so nonsense may end there in whatever Python raises. A plain module is not bounded by memory.
"""

import inspect
import itertools
import math
import os
import random
import re
import shutil
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch

import synthlab
from support.configs import QUICK
from synthlab.errors import InputError, RunsFailed

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
SECONDS, LONGEST = 20, 400  # of a call; letters of a line, but for the choices at its end
PAIRS = 6  # calls of a function with two hostile arguments; each argument gets each hostile value by itself
RUN = {"task": "sum", **QUICK}
SETTINGS = ("task", "model.width", "protocol", "model", "seed", "test_length", "encoding")


class Unspeakable:
    """An object that raises whatever is asked of it."""

    def __repr__(self):
        raise RuntimeError("no text")

    __str__ = __repr__

    def __iter__(self):
        raise RuntimeError("no items")

    def __len__(self):
        raise RuntimeError("no length")


class Nothing:
    """A class that takes and gives nothing."""

    def __init__(self, *_: Any):
        pass


def deep(make: Callable[[Any], Any], levels: int = 10_000) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = make(value)
    return value


PLAIN = (None, True, -1, 0, 0.5, math.nan, math.inf, -math.inf, 10**12, -(2**63), "", "nonsense", "a\nb=c", "a\0b.png")
PLAIN += ("x.zzz", b"\xff")
HOSTILE: dict[str, Callable[[], Any]] = {
    **{repr(value): (lambda value=value: value) for value in PLAIN},
    "10**5000": lambda: 10**5000,
    "long text": lambda: "x" * 10**5,
    "no list": list,
    "[None]": lambda: [None],
    "mixed list": lambda: [1, "a", None],
    "no mapping": dict,
    "mapping": lambda: {"a": {"b": None}},
    "mapping of numbers": lambda: {1: 2},
    "deep list": lambda: deep(lambda value: [value]),
    "deep mapping": lambda: deep(lambda value: {"a": value}),
    "set": lambda: {1, "a"},
    "object": object,
    "unspeakable": Unspeakable,
    "class": lambda: Nothing,
    "function": lambda: lambda *_, **__: None,
    "endless": itertools.count,
    "generator": lambda: (each for each in ("a", "b")),
    "folder": lambda: Path("."),
    "no such folder": lambda: Path("nowhere/at/all.png"),
    "floats": lambda: torch.zeros(2, 3),
    "no rows": lambda: torch.zeros(0, 3, dtype=torch.long),
    "too many dimensions": lambda: torch.zeros(2, 2, 2, 2, dtype=torch.long),
    "a number as tensor": lambda: torch.tensor(3),
    "foreign symbols": lambda: torch.full((2, 3), 10**9),
    "negative symbols": lambda: torch.full((2, 3), -1),
    "truth values": lambda: torch.zeros(2, 3, dtype=torch.bool),
    "complex": lambda: torch.zeros(2, 3, dtype=torch.complex64),
    "nan tensor": lambda: torch.full((2, 3), float("nan")),
    "100,000 symbols": lambda: torch.zeros(1, 100_000, dtype=torch.long),
    "array": lambda: np.zeros((2, 2)),
    "no table": pd.DataFrame,
    "another table": lambda: pd.DataFrame({"a": [1, None]}),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> SimpleNamespace:
    """What sound calls need: a run with its weights, recorded, and what is made of it."""
    from synthlab.inspection import fit_probe

    folder = tmp_path_factory.mktemp("world")
    results = str(folder / "results")
    records = synthlab.run(**RUN, results=results, progress=False, save="weights", seeds=1)
    model = records[0].model()
    _, activations = model.run_with_cache(["0110", "1011"])
    features, targets = torch.randn(6, 3), torch.randn(6)
    made = {"model": model, "activations": activations, "hooked": model.hooked, "texts": torch.randint(4, (4, 24))}
    made |= {"features": features, "targets": targets, "probe": fit_probe(features, targets)}
    return SimpleNamespace(results=results, records=records, record=records[0], **made)


def bigram(tokens: torch.Tensor) -> torch.Tensor:
    return 5.0 * torch.nn.functional.one_hot(tokens, 4).float()


def harness(_: Any) -> dict[str, Any]:
    pytest.importorskip("lm_eval")
    from support.language_models import llama
    from synthlab.huggingface.tokenizer import byte_tokenizer

    given = {"data": None, "limit": 1, "samples": 1, "seed": 0, "depths": (), "max_length": None, "batch_size": 1}
    return {"model": llama(), "tokenizer": byte_tokenizer(), "tasks": ["needle"], "lengths": [64], **given}


# A sound call of each function of the page: what it is a method of, if it is one, and its arguments.
SOUND: dict[str, tuple[str | None, Callable[[Any], dict[str, Any]]]] = {
    "synthlab.run": (None, lambda world: RUN | {"results": world.results, "progress": False}),
    "synthlab.train": (None, lambda world: RUN | {"results": world.results, "progress": False}),
    "synthlab.load_model": (None, lambda world: {"record": world.record.config.id, "results": world.results}),
    "synthlab.load_records": (None, lambda world: {"results": world.results}),
    "synthlab.Records": (None, lambda world: {"records": list(world.records)}),
    "synthlab.Records.table": ("records", lambda _: {}),
    "synthlab.Records.summary": ("records", lambda _: {}),
    "synthlab.Records.plot": ("records", lambda _: {}),
    "synthlab.Record.settings": ("record", lambda _: {}),
    "synthlab.Record.model": ("record", lambda _: {}),
    "synthlab.TrainedModel.predict": ("model", lambda _: {"sequences": ["0110"]}),
    "synthlab.TrainedModel.run_with_cache": ("model", lambda _: {"sequences": ["0110"]}),
    "synthlab.TrainedModel.run_with_hooks": ("model", lambda _: {"sequences": ["0110"], "hooks": []}),
    "synthlab.TrainedModel.plot_attention": ("model", lambda _: {"sequence": "0110"}),
    "synthlab.TrainedModel.plot_error": ("model", lambda _: {}),
    "synthlab.compare.compare": (None, lambda world: {"table": world.records.table()}),
    "synthlab.collect.collect": (None, lambda world: {"results": world.results, "out": "runs.csv"}),
    "synthlab.inspection.HookedTransformer.forward": ("hooked", lambda _: {"tokens": torch.tensor([[2, 0, 1, 3]])}),
    "synthlab.inspection.HookedTransformer.hook_points": ("hooked", lambda _: {}),
    "synthlab.inspection.zero_head": (None, lambda _: {"layer": 0, "head": 1}),
    "synthlab.inspection.replace_head": (None, lambda _: {"layer": 0, "head": 1, "values": 0.5}),
    "synthlab.inspection.patch": (None, lambda world: {"source": world.activations, "name": ("resid_post", 0)}),
    "synthlab.inspection.fit_probe": (None, lambda world: {"features": world.features, "targets": world.targets}),
    "synthlab.inspection.Probe.predict": ("probe", lambda world: {"features": world.features}),
    "synthlab.inspection.Probe.r2": ("probe", lambda world: {"features": world.features, "targets": world.targets}),
    "synthlab.alignment.misalignment.misalignment": (
        None,
        lambda world: {"model": bigram, "texts": world.texts, "low": 8, "high": 16, "generator": torch.Generator()},
    ),
    "synthlab.alignment.regularizer.aligned_loss": (
        None,
        lambda world: {"model": bigram, "tokens": world.texts, "length": 20, "alpha": 0.1},
    ),
    "synthlab.huggingface.benchmarks.synthetic.samples": (
        None,
        lambda _: {"task": "needle", "length": 64, "count": 2, "encode": str.encode},
    ),
    "synthlab.huggingface.benchmarks.harness.evaluate_tasks": (None, harness),
    "synthlab.huggingface.benchmarks.harness.prepared": (None, harness),
    "theory.optimum": (None, lambda _: {"task": "length", "train_length": 5}),
    "theory.paper_optimum": (None, lambda _: {"task": "length", "train_length": 5}),
    "theory.Optimum.error": ("optimum", lambda _: {"test_length": 7}),
}


def public() -> Iterator[str]:
    """The functions, constructors and methods that the page documents, but for base classes."""
    for section in PAGE.read_text().split("\n## "):
        if section.startswith("Base classes"):
            continue
        yield from re.findall(r"autofunction:: (\S+)", section)
        for name, call, members in re.findall(r"autoclass:: ([\w.]+)(\(\))?(?:\n +:members: (.*))?", section):
            if not call:
                yield name
            for member in members.split(", ") if members else []:
                if not isinstance(inspect.getattr_static(resolve_name(name), member), property):
                    yield f"{name}.{member}"


class Case(NamedTuple):
    """A hostile call: arguments by the names of their values."""

    name: str
    hostile: dict[str, str]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}: {value}' for key, value in self.hostile.items())})"


def cases(name: str) -> Iterator[Case]:
    """The hostile calls of one function, the same each time."""
    draws = random.Random(name)
    parameters = inspect.signature(resolve_name(name)).parameters.values()
    names = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name not in ("self", "args", "kwds")]
    if any(p.kind is p.VAR_KEYWORD for p in parameters) and name in ("synthlab.run", "synthlab.train"):
        names += SETTINGS
    plain_module = name.endswith("HookedTransformer.forward")  # which knows no bound of memory
    kinds = [kind for kind in HOSTILE if not (plain_module and kind == "100,000 symbols")]
    for each in names:
        yield from (Case(name, {each: kind}) for kind in kinds)
    for _ in range(PAIRS * (len(names) > 1)):
        yield Case(name, {each: draws.choice(kinds) for each in draws.sample(names, 2)})
    yield Case(name, {"zzz": "None"})


@contextmanager
def in_time(case: Case) -> Iterator[None]:
    """Fails if the block takes too long."""

    def stop(*_: Any) -> None:
        pytest.fail(f"{case}: takes more than {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def called(world: SimpleNamespace, case: Case) -> None:
    """Make the call, and use what it returns as far as it computes only then."""
    owner, arguments = SOUND[case.name]
    method = case.name.rpartition(".")[2].replace("forward", "__call__")  # as users call modules
    function = getattr(getattr(world, owner), method) if owner else resolve_name(case.name)
    returned = function(**arguments(world) | {name: HOSTILE[kind]() for name, kind in case.hostile.items()})
    if case.name == "synthlab.huggingface.benchmarks.synthetic.samples":
        list(itertools.islice(returned, 2))
    elif case.name.endswith("_head") or case.name.endswith(".patch"):
        world.model.run_with_hooks(["0110", "1011"], [returned])
    elif hasattr(returned, "__enter__"):
        with returned:
            pass


def fault(world: SimpleNamespace, case: Case) -> str | None:
    """What is wrong with the outcome of a hostile call; None if nothing is."""
    try:
        called(world, case)
    except (InputError, RunsFailed) as error:
        for line in error.lines:
            if "\n" in line or len(line.partition("; choose from")[0]) > LONGEST:
                return f"a line of {len(line)} letters: {line[:LONGEST]!r}"
        names = [*inspect.signature(resolve_name(case.name)).parameters, *case.hostile]
        if not any(name.split(".")[-1] in str(error) for name in names) and "results" not in case.hostile:
            return f"names no argument: {error!s:.200}"
        if os.listdir() and "results" not in case.hostile:
            return f"leaves behind {os.listdir()}"
    except TypeError as error:
        if "zzz" not in case.hostile:
            return f"{type(error).__name__}: {error!s:.200}"
    except Exception as error:
        return f"{type(error).__name__}: {error!s:.200}"
    return None


@pytest.mark.parametrize("name", dict.fromkeys(public()))
def test_a_hostile_call_is_refused_in_short_lines(name, world, tmp_path, monkeypatch):
    import matplotlib.pyplot as plt

    if name == "theory.Optimum.error":
        world.optimum = resolve_name("theory.optimum")("length", 5)
    assert name in SOUND, f"{name} is on docs/api.md: give a sound call of it in SOUND"
    trained = []
    monkeypatch.setattr("synthlab.training.memory.find_available", lambda *_: 8.0 * 2**30)  # on large machines, too
    monkeypatch.setattr("synthlab.training.execution.fit", lambda *_: trained.append(1) or 1 / 0)
    monkeypatch.chdir(tmp_path)
    called(world, Case(name, {}))  # a sound call is one
    faults = []
    for case in cases(name):
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        monkeypatch.chdir(tmp_path)
        with warnings.catch_warnings(), in_time(case):
            warnings.simplefilter("ignore")
            wrong = fault(world, case)
        plt.close("all")
        if trained and "results" not in case.hostile:  # a folder of another name is a sound one
            wrong = "trains"
        trained.clear()
        faults += [f"{case}: {wrong}"] * bool(wrong)
    assert not faults, "\n".join(faults)
