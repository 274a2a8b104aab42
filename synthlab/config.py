"""From Hydra's config to a checked, complete description of one run."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, NonNegativeInt, PositiveFloat, PositiveInt

from synthlab.errors import InputError
from synthlab.registry import STRICT, validated

RESULTS_VERSION = 1  # raise it when the same config would give other numbers: older records are then trained anew
BOOKKEEPING = ("results",)  # keys of the config that say nothing about the numbers

Share = Annotated[float, Field(ge=0, lt=1)]
Member = dict[str, Any]  # the name of a registry's member and its arguments; checked by the registry


class Protocol(BaseModel):
    """How a model is trained; each field is described in ``conf/protocol/lab.yaml``."""

    model_config = STRICT
    name: str
    optimizer: Literal["adam", "sgd"]
    lr: PositiveFloat
    momentum: Share
    beta2: Share
    steps: PositiveInt
    batch: PositiveInt
    warmup: Annotated[float, Field(ge=0, le=1)]
    record_every: PositiveInt


class Evaluation(BaseModel):
    """How a model is tested; each field is described in ``conf/config.yaml``."""

    model_config = STRICT
    sequences: PositiveInt
    seed: NonNegativeInt
    largest: PositiveFloat


class RunConfig(BaseModel):
    """Everything that decides a run's numbers, and nothing else."""

    model_config = STRICT
    task: Member
    inputs: Member
    encoding: Member
    outrep: Member
    model: Member
    protocol: Protocol
    train_length: PositiveInt
    length_distribution: Literal["uniform", "proportional", "longest"]
    test_length: PositiveInt
    seed: NonNegativeInt
    evaluation: Evaluation

    @classmethod
    def checked(cls, raw: Mapping[str, Any]) -> "RunConfig":
        """The run that ``raw`` describes, bookkeeping left aside.

        Raises InputError for every unknown, missing or ill-typed key outside the registries.
        """
        return validated(cls, {key: value for key, value in raw.items() if key not in BOOKKEEPING}, "")

    @property
    def id(self) -> str:
        """The run's identity: a hash of the whole config, the seed included, and of the results version."""
        text = json.dumps([RESULTS_VERSION, self.model_dump()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def with_seed(self, seed: int) -> "RunConfig":
        """The same run under another seed."""
        return self.checked(self.model_dump() | {"seed": seed})


def conf_dir() -> Path:
    """Where the config files are: inside an installed package, beside it in a checkout."""
    here = Path(__file__).resolve().parent
    return next(path for path in (here / "conf", here.parent / "conf") if path.is_dir())


def compose(overrides: list[str], searchpath: list[str] | None = None) -> dict[str, Any]:
    """The config of one run as plain values, composed by Hydra from ``conf/`` and ``overrides`` (``key=value``).

    ``searchpath`` names folders of the user's own with further config files; inside a Hydra application its own search
    path holds. Raises InputError.
    """
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf

    from synthlab.cli import input_errors

    running = GlobalHydra.instance().is_initialized()
    extra = [f"hydra.searchpath=[{','.join(searchpath)}]"] if searchpath else []
    with input_errors(overrides):
        with nullcontext() if running else initialize_config_dir(str(conf_dir()), version_base="1.3"):
            config = hydra_compose("config", overrides=[*overrides, *extra])
        return OmegaConf.to_container(config, resolve=True, throw_on_missing=True)


def as_overrides(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Python values as Hydra overrides: ``{"model": {"width": 64}}`` gives ``model.width=64``.

    A class named ``package.module:Class`` is set as the name inside its group, since no config file bears it.
    """
    for key, value in values.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from as_overrides(value, f"{path}.")
        elif isinstance(value, str) and ":" in value and not path.endswith(".name"):
            yield f"{path}.name={value}"
        elif value is None or isinstance(value, bool | int | float | str):
            yield f"{path}={json.dumps(value) if not isinstance(value, str) else value}"
        else:
            raise InputError(f"{path}={value!r}: must be a number, a string, a truth value, None or a mapping of these")
