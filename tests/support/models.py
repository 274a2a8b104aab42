"""Models and encodings made small for tests."""

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import torch

from support.configs import composed
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.language_model import LanguageModel, ReferenceLanguageModel
from synthlab.models.transformer import Transformer
from synthlab.rng import stream
from synthlab.runs.conf_files import read_member

LENGTH, VOCABULARY = 9, 5
SIZES = {
    "width": 16,
    "depth": 2,
    "heads": 4,
    "mlp_ratio": 2.0,
    "norm": "pre",
    "attention": "softmax",
    "init_scale": 1.0,
}
KINDS, NORMS = ("softmax", "linear"), ("pre", "post", "none")


def read_arguments(name: str) -> dict[str, Any]:
    """The arguments of an encoding's config file; Hydra composes those of one around another."""
    is_around = "inner" in signature(ENCODINGS[name]).parameters
    return composed(f"encoding={name}")["encoding"] if is_around else dict(read_member("encoding", name))


ARGUMENTS = {name: read_arguments(name) for name in ENCODINGS}  # so a new encoding is tested
ARGUMENTS["cope"]["scale"] = 1.0  # at its default, zeros, it would do nothing
DIMS = Dims(width=8, heads=2)


def build(name: str, dims: Dims = DIMS, **changed) -> Encoding:
    encoding = ENCODINGS.build(ARGUMENTS[name] | changed, dims)
    encoding.initialise([torch.Generator().manual_seed(seed) for seed in range(dims.models)])
    return encoding


# Each encoding with each kind of attention that it can have.
PAIRS = [(name, kind) for name in ENCODINGS for kind in KINDS if kind == "softmax" or not build(name).needs_softmax]


def at(*positions: int) -> torch.Tensor:
    """Positions that all models and rows share."""
    return torch.tensor(positions).view(1, 1, -1)


def model(encoding: Any = "nope", models: int = 1, made: Any = Transformer, **changed) -> Any:
    """A model under an encoding, by its name or what makes it; language models know ``VOCABULARY`` tokens."""
    make_encoding = partial(build, encoding) if isinstance(encoding, str) else encoding
    own = (VOCABULARY,) if made in (LanguageModel, ReferenceLanguageModel) else ()
    return made(
        make_encoding,
        [stream(seed, "initial") for seed in range(models)],
        *own,
        **(SIZES | {"init_scale": 1.0} | changed),
    )


def symbols(models: int = 1, rows: int = 5) -> torch.Tensor:
    return torch.randint(0, 2, (models, rows, LENGTH), generator=torch.Generator().manual_seed(0))


def texts(models: int = 1, rows: int = 3, length: int = LENGTH) -> torch.Tensor:
    return torch.randint(VOCABULARY, (models, rows, length), generator=torch.Generator().manual_seed(0))


def randoms(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def triangle(value: Callable[[int, int, int], Any], tokens: int, dtype: torch.dtype = torch.float) -> torch.Tensor:
    """``value(head, i, j)`` for each query i and key j that it sees, of two heads; zeros for other keys."""
    place = range(tokens)
    rows = [[[value(head, i, j) if j <= i else 0.0 for j in place] for i in place] for head in range(2)]
    return torch.tensor(rows, dtype=dtype)
