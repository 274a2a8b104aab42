"""Models and encodings made small for tests."""

from functools import partial

import torch

from support.configs import composed
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.transformer import Transformer
from synthlab.rng import stream

LENGTH = 9
KINDS, NORMS = ("softmax", "linear"), ("pre", "post", "none")
# As the config files have them: a new encoding is tested by having one.
ARGUMENTS = {name: composed(f"encoding={name}")["encoding"] for name in ENCODINGS}
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


def model(encoding: str = "nope", models: int = 1, made: type[Transformer] = Transformer, **changed) -> Transformer:
    sizes = {"width": 16, "depth": 2, "heads": 4, "mlp_ratio": 2.0, "norm": "pre", "attention": "softmax"}
    make_encoding = partial(build, encoding)
    streams = [stream(seed, "initial") for seed in range(models)]
    return made(make_encoding, streams, **(sizes | {"init_scale": 1.0} | changed))


def symbols(models: int = 1, rows: int = 5) -> torch.Tensor:
    return torch.randint(0, 2, (models, rows, LENGTH), generator=torch.Generator().manual_seed(0))
