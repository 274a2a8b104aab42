"""A checked description of one run: everything that decides its numbers."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, Field, PositiveFloat, model_validator

from synthlab.errors import InputError, UnknownFamily, format_error
from synthlab.runs.registry import MISSING_MESSAGE, STRICT, Registry, describe_unknown, validate
from synthlab.runs.sources import HASH, note_user_classes

if TYPE_CHECKING:
    from synthlab.metrics import Measures
    from synthlab.training.family import Family

# Keys of the config that do not change a run's numbers, except by rounding.
BOOKKEEPING = ("results", "tag", "device", "workers", "retry", "save", "tracker")
COMMAND_KEYS = ("hydra", *BOOKKEEPING)  # keys of commands that are no part of a run


def bookkeeping(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are not part of a run.

    Raises InputError for one that is missing, and for a results folder in memory, which would be lost at the end.
    """
    missing = [key for key in BOOKKEEPING if key not in raw]
    if missing:
        raise InputError(*(f"{key}: {MISSING_MESSAGE}" for key in missing))
    if str(raw["results"]).startswith("memory:"):
        raise InputError(f"results={raw['results']}: is lost when the command ends; give a folder")
    return {key: raw[key] for key in BOOKKEEPING}


# Generous bounds, so that a typing error is refused rather than exhausting the memory.
Count = Annotated[int, Field(gt=0, le=10**6)]
Length = Annotated[int, Field(gt=0, le=20_000)]
Tokens = Annotated[int, Field(gt=0, le=10**9)]  # of an argument, such as a window, that allocates nothing
OPTIMIZERS = ("adam", "adamw", "sgd")  # the lab's own; other names are classes of the user
SEED_LIMIT = 2**63  # seeds are 0 or more and below this
Seed = Annotated[int, Field(ge=0, lt=SEED_LIMIT)]
Steps = Annotated[int, Field(gt=0, lt=2**63)]
FractionBelowOne = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(gt=0, le=1)]
Member = dict[str, Any]  # the name of a registry's member and its arguments; the registry checks them


class Settings(BaseModel):
    """Checked settings of a run.

    Earlier records lack the fields that have a default. A field at its default is left out of the record, and so out of
    the run's identity: such a run is identical to the one that earlier versions recorded.
    """

    model_config = STRICT
    ORDER: ClassVar[tuple[str, ...]] = ()  # the fields in the order of records and tables, if that is not as declared

    def model_dump(self, **how: Any) -> dict[str, Any]:
        """Return plain values; those at their default are left out."""
        # In Python: pydantic turns Ctrl-C in a serializer of ours into an error.
        fields, dumped, kept = type(self).model_fields, super().model_dump(**how), dict[str, Any]()
        for key in dict.fromkeys((*self.ORDER, *fields)):
            value = getattr(self, key)
            if key in dumped and (key == "family" or fields[key].is_required() or value != fields[key].default):
                kept[key] = value.model_dump() if isinstance(value, Settings) else dumped[key]
        return kept


class Protocol(Settings):
    """The training settings of a run; ``conf/protocol/lab.yaml`` describes each field."""

    name: str
    optimizer: str
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
    source_hash: str | None = None  # of an optimizer of the user: see ``sources``

    @model_validator(mode="after")
    def _check(self) -> "Protocol":
        lines: list[str] = []
        if self.has_user_optimizer and ":" not in self.optimizer:
            lines.append(f"{describe_unknown('optimizer', self.optimizer, OPTIMIZERS)}, or give package.module:Class")
        if self.weight_decay and self.optimizer != "adamw":
            lines.append(f"weight_decay={self.weight_decay}: needs protocol.optimizer=adamw, not {self.optimizer}")
        if self.options and not self.has_user_optimizer:
            lines.append(f"options={self.options}: needs an optimizer of your own, not {self.optimizer}")
        if lines:
            raise InputError(*lines)
        return self

    @property
    def has_user_optimizer(self) -> bool:
        """True if the optimizer is a class of the user."""
        return self.optimizer not in OPTIMIZERS

    def with_source(self) -> "Protocol":
        """Return the settings with the hash of the optimizer's source, if it is the user's.

        Raises InputError for a class that is no optimizer.
        """
        if not self.has_user_optimizer:
            return self.model_copy(update={HASH: None})
        from torch.optim import Optimizer

        field = "protocol.optimizer"
        member = Registry(field, Optimizer, {}).with_source({"name": self.optimizer}, field)
        return self.model_copy(update={HASH: member.get(HASH)})


class Curriculum(Settings):
    """Training lengths that grow; ``conf/family/sequences.yaml`` describes each field."""

    start: Length | None
    until: Share

    def find_longest(self, step: int, steps: int, train_length: int) -> int:
        """Return the longest training length at ``step`` (from 0) of ``steps``.

        It grows linearly from ``start``, and reaches ``train_length`` after the fraction ``until`` of the steps.
        """
        until = self.until * steps
        if self.start is None or step >= until:
            return train_length
        return int(self.start + (train_length - self.start) * step / until)


Own = TypeVar("Own", bound="Run")
FORMER_FAMILIES = {"numbers": "regression"}  # names in the first version, which identities keep
RUN_TYPES: dict[str, type["Run"]] = {}  # of the families whose modules have been imported, by name


class Run(Settings, ABC):
    """Everything that decides a run's numbers, and nothing else.

    A subclass is of one family. It gives ``family`` a ``Literal`` type and default, and adds its own fields. ``ORDER``
    says where they stand among these.
    """

    # Raise this number when the same config would give other numbers: older records are then trained anew.
    results_version: ClassVar[int]
    has_fused_attention: ClassVar[bool] = False  # long texts: no matrix for each head (``models.attention``)
    default_task: ClassVar[str]  # the file of conf/task/ that a run of this family uses by default
    answer: ClassVar[str]  # what kind of answer its tasks ask for, for readers
    MEASURES: ClassVar["Measures"]  # its metrics, horizon and chance level
    SEEDS: ClassVar[tuple[str, ...]] = ("seed", "weight_seed", "data_seed", "test_seed")  # a null seed equals the first
    FORMER_TASK_KEY: ClassVar[str] = ""  # the first name of ``task``, of families that had another, and only one seed
    family: str
    task: Member
    encoding: Member
    model: Member
    protocol: Protocol
    train_length: Length
    test_length: Length
    seed: Seed
    weight_seed: Seed
    data_seed: Seed
    test_seed: Seed

    @classmethod
    def __pydantic_init_subclass__(cls, **how: Any) -> None:
        RUN_TYPES[cls.model_fields["family"].default] = cls

    @classmethod
    def from_raw(cls: type[Own], raw: Mapping[str, Any]) -> Own:
        """Return the run that ``raw`` describes, ignoring keys that are not part of a run.

        Raises InputError for every unknown, missing or ill-typed key outside the registries.
        """
        given = {key: value for key, value in raw.items() if key not in BOOKKEEPING}
        seed = given.get("seed")
        followed = seed if isinstance(seed, int) and 0 <= seed < SEED_LIMIT else 0  # a wrong seed is refused by itself
        seeds = {name: followed for name in cls.SEEDS[1:] if given.get(name) is None}
        return validate(cls, given | seeds, "")

    @model_validator(mode="after")
    def _check_schedule(self) -> "Run":
        curriculum, stop, lines = getattr(self, "curriculum", None), getattr(self, "stop", None), list[str]()
        if curriculum and curriculum.start is not None and curriculum.start > self.train_length:
            lines.append(f"curriculum.start={curriculum.start}: must be at most train_length={self.train_length}")
        every = self.protocol.record_every  # a test is at a point of the training curve
        if stop and stop.level is not None and stop.every % every:
            lines.append(f"stop.every={stop.every}: must be a multiple of protocol.record_every={every}")
        if lines:
            raise InputError(*lines)
        return self

    @property
    def identifying(self) -> dict[str, Any]:
        """The values that identify the run: its fields, named as in the first version, where ``family`` was ``kind``.

        With ``FORMER_TASK_KEY`` that version had only ``seed``, so seeds that equal it are left out there.
        """
        values = self.model_dump()
        family = values.pop("family")
        values["kind"] = FORMER_FAMILIES.get(family, family)
        if not self.FORMER_TASK_KEY:
            return values
        followers = {name for name in self.SEEDS[1:] if values[name] == self.seed}
        named = values | {self.FORMER_TASK_KEY: values["task"]}
        return {key: value for key, value in named.items() if key not in followers | {"task"}}

    @classmethod
    @abstractmethod
    def load_family(cls) -> "Family":
        """Return the functions that build, train and test such runs. Imported on demand: they need torch."""

    @classmethod
    def measures(cls) -> "Measures":
        """Return the measures of such runs: metrics, horizon, chance level. This does not need torch."""
        return cls.MEASURES

    @classmethod
    def groups(cls) -> list[str]:
        """Return the fields that hold a named member of a config group, the protocol included."""
        named: tuple[Any, ...] = (Member, Member | None, Protocol)
        fields = cls.model_fields
        return [name for name in dict.fromkeys((*cls.ORDER, *fields)) if fields[name].annotation in named]

    @property
    def id(self) -> str:
        """The run's identity: a hash of all its values, seeds included, and the results version of its family."""
        text = json.dumps([self.results_version, self.identifying], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    @abstractmethod
    def shape(self) -> str:
        """The shape of a run: runs of one shape do the same arithmetic, and so can train together in one ensemble."""

    @property
    def steps(self) -> int:
        """The number of training steps of the whole run."""
        return self.protocol.steps

    @property
    def checkpoints(self) -> range:
        """The points of the training curve, except the last, at which an observer sees the model that is tested."""
        return range(self.protocol.record_every, self.steps, self.protocol.record_every)

    def with_seeds(self: Own, raw: Mapping[str, Any]) -> Own:
        """Return the same run with the seeds of ``raw``.

        A seed that is null or missing follows ``seed``. Raises InputError for an invalid seed.
        """
        return self.from_raw(self.model_dump() | {name: raw.get(name) for name in self.SEEDS})

    @classmethod
    def depends_on_seed(cls, raw: Mapping[str, Any]) -> bool:
        """Return True if the run that ``raw`` describes depends on ``seed``: it does not if all other seeds are set."""
        return len(cls.SEEDS) == 1 or any(raw.get(name) is None for name in cls.SEEDS)

    @classmethod
    def check_depends_on_seed(cls, raw: Mapping[str, Any], given: str) -> None:
        """Raise InputError for several seeds of the run that ``raw`` describes, if it does not depend on ``seed``.

        All runs would then have the same numbers, which would look like no variance. ``given`` is the setting to name.
        """
        if not cls.depends_on_seed(raw):
            raise InputError(
                f"{given}: has no effect, because {', '.join(cls.SEEDS[1:])} are all set; leave one of them out"
            )


def run_type(family: object) -> type[Run]:
    """Return the class of the runs of a family. Raises UnknownFamily.

    The lab's own are imported with it (``synthlab.families``). Another is found by an entry point of the group
    ``synthlab.families``, whose name is the family's and whose value is the class.
    """
    name = str(family)
    if name not in RUN_TYPES:
        from importlib.metadata import entry_points  # not needed where runs are trained

        found = [*entry_points(group="synthlab.families", name=name)]
        if not found:
            raise UnknownFamily(f"family={name}: not known here")
        try:
            RUN_TYPES[name] = found[0].load()
        except Exception as error:  # another package's module can raise anything when imported
            why = f"needs {found[0].value}, which cannot be imported here ({format_error(error)})"
            raise UnknownFamily(f"family={name}: {why}") from None
    return RUN_TYPES[name]


def resolve(raw: Mapping[str, Any]) -> Run:
    """Return the complete run that ``raw`` describes, with defaults filled in.

    Raises InputError for a run that could not be trained or tested.
    """
    with note_user_classes(raw):
        run = config_of(raw)
        run = run.load_family().complete(run)
        if run.protocol.has_user_optimizer or run.protocol.source_hash:
            run = run.model_copy(update={"protocol": run.protocol.with_source()})
        return run


def config_of(raw: Mapping[str, Any]) -> Run:
    """Return the run that a record's config describes. Raises UnknownFamily, or InputError if the config is invalid."""
    return run_type(raw.get("family")).from_raw(raw)
