"""A checked description of one run: everything that decides its numbers."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, Field, PositiveFloat

from synthlab.errors import InputError
from synthlab.registry import STRICT, validated

# Keys of the config that decide no number, but for rounding.
BOOKKEEPING = ("results", "device", "workers", "retry", "tracker", "batches")


def bookkeeping(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are no part of a run. Raises InputError for one that was taken away."""
    missing = [key for key in BOOKKEEPING if key not in raw]
    if missing:
        raise InputError(*(f"{key}: missing; must be given" for key in missing))
    return {key: raw[key] for key in BOOKKEEPING}


# Bounds beyond any use, so that a slip of the finger is refused and does not exhaust the memory.
Count = Annotated[int, Field(gt=0, le=10**6)]
Length = Annotated[int, Field(gt=0, le=20_000)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Steps = Annotated[int, Field(gt=0, lt=2**63)]
Share = Annotated[float, Field(ge=0, lt=1)]
Member = dict[str, Any]  # the name of a registry's member and its arguments; checked by the registry


def identity_of(config: Mapping[str, Any], results_version: int) -> str:
    """The identity of the run that ``config`` describes, as plain values: a hash of all of it, the seed included, and
    of the results version of its kind."""
    text = json.dumps([results_version, config], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Protocol(BaseModel):
    """How a model is trained; each field is described in ``conf/protocol/lab.yaml``."""

    model_config = STRICT
    name: str
    optimizer: Literal["adam", "sgd"]
    lr: PositiveFloat
    momentum: Share
    beta2: Share
    steps: Steps
    batch: Count
    warmup: Annotated[float, Field(ge=0, le=1)]
    record_every: Steps


class Evaluation(BaseModel):
    """How a model is tested; each field is described in ``conf/run.yaml``."""

    model_config = STRICT
    sequences: Count
    seed: Seed
    largest: PositiveFloat


Kind = TypeVar("Kind", bound="Config")


class Config(BaseModel, ABC):
    """Everything that decides a run's numbers, and nothing else. What a run is made of is up to its kind, but all have
    ``model``, ``encoding``, ``protocol``, ``train_length``, ``test_length`` and ``seed``."""

    model_config = STRICT
    # The module that builds the models of such runs (``build_models``), says what they minimize (``objective_of``),
    # trains (``train_stack``) and tests them (``tested``). It is imported when something is trained.
    made_by: ClassVar[str]
    # Of each kind; to be raised when the same config would give other numbers: older records are then trained anew.
    results_version: ClassVar[int]

    @classmethod
    def checked(cls: type[Kind], raw: Mapping[str, Any]) -> Kind:
        """The run that ``raw`` describes, bookkeeping left aside.

        Raises InputError for every unknown, missing or ill-typed key outside the registries.
        """
        return validated(cls, {key: value for key, value in raw.items() if key not in BOOKKEEPING}, "")

    @property
    def maker(self) -> ModuleType:
        """The module that ``made_by`` names."""
        return import_module(self.made_by)

    @property
    def id(self) -> str:
        """The run's identity: see ``identity_of``."""
        return identity_of(self.model_dump(), self.results_version)

    @property
    @abstractmethod
    def shape(self) -> str:
        """Runs of one shape can train side by side in one stack: they differ in what costs no other arithmetic."""

    @property
    def steps(self) -> int:
        """The training steps of the whole run."""
        return self.protocol.steps

    def with_seed(self: Kind, seed: int) -> Kind:
        """The same run under another seed."""
        return self.checked(self.model_dump() | {"seed": seed})


class RunConfig(Config):
    """A run on a task with a number for an answer."""

    made_by = "synthlab.regression"
    results_version = 2
    task: Member
    inputs: Member
    encoding: Member
    outrep: Member
    model: Member
    protocol: Protocol
    train_length: Length
    length_distribution: Literal["uniform", "proportional", "longest"]
    test_length: Length
    seed: Seed
    evaluation: Evaluation

    @property
    def shape(self) -> str:
        protocol = self.protocol.model_dump(exclude={"name", "lr"})
        return json.dumps([self.model, self.encoding, protocol, self.train_length], sort_keys=True)
