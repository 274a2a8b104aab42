"""A checked description of one run: everything that decides its numbers."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    PositiveFloat,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
)

from synthlab.config.registry import STRICT, did_you_mean, validate
from synthlab.errors import InputError, UnknownKind, format_error

if TYPE_CHECKING:
    from synthlab.metrics import Measures
    from synthlab.training.family import Family

# Keys of the config that decide no number, but for rounding.
BOOKKEEPING = ("results", "tag", "device", "workers", "retry", "save", "tracker", "batches")
OPTIONAL = ("batches",)  # of these, what only sweeps have


def bookkeeping(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are no part of a run. Raises InputError for one that was taken away, and for records that would
    end with the command."""
    missing = [key for key in BOOKKEEPING if key not in (*raw, *OPTIONAL)]
    if missing:
        raise InputError(*(f"{key}: missing; must be given" for key in missing))
    if str(raw["results"]).startswith("memory:"):
        raise InputError(f"results={raw['results']}: ends with the command, and nothing would be kept; give a folder")
    return {key: raw[key] for key in BOOKKEEPING if key in raw}


# Bounds beyond any use, so that a slip of the finger is refused and does not exhaust the memory.
Count = Annotated[int, Field(gt=0, le=10**6)]
Length = Annotated[int, Field(gt=0, le=20_000)]
OPTIMIZERS = ("adam", "adamw", "sgd")  # the lab's; another is a class of the user's own
MOST_SEEDS = 2**63  # from 0 on
Seed = Annotated[int, Field(ge=0, lt=MOST_SEEDS)]
Steps = Annotated[int, Field(gt=0, lt=2**63)]
FractionBelowOne = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(gt=0, le=1)]
Member = dict[str, Any]  # the name of a registry's member and its arguments; checked by the registry


def identity_of(config: Mapping[str, Any], results_version: int) -> str:
    """The identity of the run that ``config`` describes, as plain values: a hash of all of it, the seed included, and
    of the results version of its kind."""
    text = json.dumps([results_version, config], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def drop_followers(config: Mapping[str, Any]) -> dict[str, Any]:
    """``config`` without the seeds that follow ``seed``: of kinds of runs that had ``seed`` alone at first."""
    return {key: value for key, value in config.items() if key not in Config.SEEDS[1:] or value != config["seed"]}


def _refuse_class(name: str) -> str:
    """``name``; raises ValueError for one that is written as a class is, of which protocols have none."""
    if ":" in name:
        raise ValueError("must be the name of a protocol, which is a file of settings and no class")
    return name


def _check_optimizer(name: str) -> str:
    """``name``; raises ValueError for an optimizer that is neither the lab's nor written as a class is."""
    if name not in OPTIMIZERS and ":" not in name:
        close = did_you_mean(name, OPTIMIZERS)
        raise ValueError(f"unknown{close}; choose from {', '.join(OPTIMIZERS)}, or give package.module:Class")
    return name


class Settings(BaseModel):
    """Settings of a run, checked.

    A field with a default is one that earlier records do not have. Where its value is the default, it is left out of
    what is recorded, and so of the run's identity: such a run is the one that earlier versions recorded.
    """

    model_config = STRICT

    @model_serializer(mode="wrap")
    def _drop_defaults(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {
            key: value
            for key, value in serialize(self).items()
            if key == "kind" or fields[key].is_required() or getattr(self, key) != fields[key].default
        }


class Protocol(Settings):
    """How a model is trained; each field is described in ``conf/protocol/lab.yaml``."""

    name: Annotated[str, AfterValidator(_refuse_class)]
    optimizer: Annotated[str, AfterValidator(_check_optimizer)]
    lr: PositiveFloat
    momentum: FractionBelowOne
    beta2: FractionBelowOne
    steps: Steps
    batch: Count
    warmup: Annotated[float, Field(ge=0, le=1)]
    record_every: Steps
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    clip: PositiveFloat | None = None
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    options: dict[str, Any] = {}

    @field_validator("weight_decay")
    @classmethod
    def _check_weight_decay(cls, value: float, info: ValidationInfo) -> float:
        optimizer = info.data.get("optimizer", "adamw")  # not there: it was refused itself
        if value and optimizer != "adamw":
            raise ValueError(f"needs protocol.optimizer=adamw, not {optimizer}")
        return value

    @field_validator("options")
    @classmethod
    def _check_options(cls, value: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        optimizer = info.data.get("optimizer", ":")
        if value and optimizer in OPTIMIZERS:
            raise ValueError(f"needs an optimizer of your own, package.module:Class, not {optimizer}")
        return value

    @property
    def has_own_optimizer(self) -> bool:
        """Whether the optimizer is a class of the user's own."""
        return self.optimizer not in OPTIMIZERS


class Curriculum(Settings):
    """Training lengths that grow; each field is described in ``conf/family/sequences.yaml``."""

    start: Length | None
    until: Share

    def find_longest(self, step: int, steps: int, train_length: int) -> int:
        """Return the longest training length in ``step`` (from 0) of ``steps``. It grows evenly, from ``start`` to
        ``train_length`` after the share ``until`` of the steps."""
        until = self.until * steps
        if self.start is None or step >= until:
            return train_length
        return int(self.start + (train_length - self.start) * step / until)


Kind = TypeVar("Kind", bound="Config")
KINDS: dict[str, type["Config"]] = {}  # the kinds of runs whose modules have been imported, by name
# The lab's own, whose records are read where it is not installed, too.
FAMILIES = ("regression", "language", "sequences")


class Config(Settings, ABC):
    """Everything that decides a run's numbers, and nothing else.

    A subclass is a kind of runs: it gives ``kind`` a ``Literal`` type and default, and adds what its runs are made of.
    """

    # To be raised when the same config would give other numbers: older records are then trained anew.
    results_version: ClassVar[int]
    fuses: ClassVar[bool] = False  # attention to long texts keeps no matrix for each head (``models.attention``)
    default_task: ClassVar[str]  # the file of conf/task/ that a run of this kind has unless another is named
    answer: ClassVar[str]  # what its tasks answer with, for people
    family_module: ClassVar[str]  # the module that is the ``Family`` of such runs, by name, since it imports this one
    measures_module: ClassVar[str]  # the module that has their ``MEASURES``
    SEEDS: ClassVar[tuple[str, ...]] = ("seed", "weight_seed", "data_seed", "test_seed")  # null follows the first
    kind: str
    if TYPE_CHECKING:  # what every kind has, in the order that suits it
        task: Member
        model: Member
        encoding: Member
        protocol: Protocol
        train_length: Length
        test_length: Length
        seed: Seed
        weight_seed: Seed
        data_seed: Seed
        test_seed: Seed

    @classmethod
    def __pydantic_init_subclass__(cls, **how: Any) -> None:
        KINDS[cls.model_fields["kind"].default] = cls

    @classmethod
    def from_raw(cls: type[Kind], raw: Mapping[str, Any]) -> Kind:
        """The run that ``raw`` describes, bookkeeping left aside.

        Raises InputError for every unknown, missing or ill-typed key outside the registries.
        """
        given = cls.rename_fields({key: value for key, value in raw.items() if key not in BOOKKEEPING})
        return validate(cls, dict.fromkeys(cls.SEEDS[1:]) | given, "")

    @field_validator("weight_seed", "data_seed", "test_seed", mode="before", check_fields=False)
    @classmethod
    def _follow_seed(cls, value: Any, info: ValidationInfo) -> Any:
        return info.data.get("seed", 0) if value is None else value  # 0: the seed itself was refused

    @classmethod
    def rename_fields(cls, raw: dict[str, Any]) -> dict[str, Any]:
        """``raw``, which may be of a record of an earlier version, with the present names of the fields."""
        return raw

    @property
    def identifying(self) -> dict[str, Any]:
        """The values that identify the run, under the names that they had when runs of this kind first had identities:
        what is renamed later keeps its records."""
        return self.model_dump()

    @classmethod
    def resolve(cls, raw: Mapping[str, Any]) -> "Config":
        """The run that ``raw`` describes, complete, as its family fills in what is left open.

        Raises InputError for anything that could not be trained or tested, before it is tried.
        """
        return cls.load_family().resolve(raw)

    @classmethod
    def load_family(cls) -> "Family[Any]":  # of runs of its own kind
        """Return how such runs are built, trained and tested. It is imported when it is asked for: it needs torch."""
        return cast("Family[Any]", import_module(cls.family_module))

    @classmethod
    def measures(cls) -> "Measures":
        """Return what is measured of such runs: metrics, horizon, chance. It needs no torch."""
        return cast("Measures", import_module(cls.measures_module).MEASURES)

    @classmethod
    def groups(cls) -> list[str]:
        """The fields that hold a named member of a config group, the protocol included."""
        named: tuple[Any, ...] = (Member, Member | None, Protocol)
        return [name for name, field in cls.model_fields.items() if field.annotation in named]

    @property
    def family(self) -> "Family[Any]":
        """See ``load_family``."""
        return self.load_family()

    @property
    def id(self) -> str:
        """The run's identity: see ``identity_of``."""
        return identity_of(self.identifying, self.results_version)

    @property
    @abstractmethod
    def shape(self) -> str:
        """Runs of one shape can train side by side in one ensemble: they differ in what costs no other arithmetic."""

    @property
    def steps(self) -> int:
        """The training steps of the whole run."""
        return self.protocol.steps

    @property
    def checkpoints(self) -> range:
        """The points of the training curve, but for the last, at which an observer sees the model that is tested."""
        return range(self.protocol.record_every, self.steps, self.protocol.record_every)

    def with_seeds(self: Kind, raw: Mapping[str, Any]) -> Kind:
        """The same run under the seeds of ``raw``: ``seed`` and, where they are set apart, the others. One that is null
        or not there follows ``seed``. Raises InputError for what is no seed."""
        return self.from_raw(self.model_dump() | {name: raw.get(name) for name in self.SEEDS})

    @classmethod
    def follows(cls, raw: Mapping[str, Any]) -> bool:
        """Whether any numbers of the run that ``raw`` describes depend on its ``seed``: not if all others are given."""
        return len(cls.SEEDS) == 1 or any(raw.get(name) is None for name in cls.SEEDS)

    @classmethod
    def check_follows(cls, raw: Mapping[str, Any], given: str) -> None:
        """Raise InputError for ``given``, which asks for the run that ``raw`` describes under several seeds, if all
        give the same numbers: they would pass for runs without spread."""
        if not cls.follows(raw):
            raise InputError(f"{given}: no run depends on its seed where {', '.join(cls.SEEDS[1:])} are all given")


def kind_of(raw: Mapping[str, Any]) -> type[Config]:
    """The kind of the run that ``raw`` describes. Raises UnknownKind.

    A kind whose module nobody has imported yet is one of the lab's families, or found by an entry point of the group
    ``synthlab.kinds``: its name is the kind, its value the class.
    """
    name = str(raw.get("kind"))
    if name not in KINDS:
        why = _import_kind(name)
        if name not in KINDS:
            raise UnknownKind(f"kind={name}: {why}")
    return KINDS[name]


@cache
def _import_kind(name: str) -> str:
    """Import what makes a kind of runs known, and say why it is not known if it still is not. Done once: looking for it
    reads the metadata of all installed packages."""
    from importlib.metadata import entry_points  # not needed where runs are trained

    if name in FAMILIES:
        import_module(f"synthlab.{name}.config")
    why = "not known here"
    for entry in entry_points(group="synthlab.kinds", name=name):
        try:
            entry.load()
        except Exception as error:  # whatever a module of others raises when it is imported
            why = f"needs {entry.value}, which cannot be imported here ({format_error(error)})"
    return why


def resolve(raw: Mapping[str, Any]) -> Config:
    """The complete config of the run that ``raw`` describes, with defaults filled in.

    Raises InputError for a run that could not be trained or tested.
    """
    return kind_of(raw).resolve(raw)


def config_of(raw: Mapping[str, Any]) -> Config:
    """The run that a record's config describes. Raises UnknownKind, and InputError for what is wrong with it."""
    return kind_of(raw).from_raw(raw)
