"""What a run leaves behind: its numbers, or why there are none; and how either is written down.

A record is a group of files: ``config.json``, ``metrics.csv`` (a row for each test length), ``training.csv`` (the
training curve), for some kinds of runs ``outputs.csv``, files of weights where these are kept (``checkpoints.py``), and
``status.json``, which holds the outcome, the environment, a checksum of each other file and one of itself.
"""

import csv
import hashlib
import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from synthlab.config import argument_checks
from synthlab.config.base import Config, kind_of
from synthlab.errors import OlderRecord, UnknownKind, format_error, is_of_memory
from synthlab.storage.checkpoints import is_weights, weights_name
from synthlab.storage.safe_reading import NotRegular, parse_json

if TYPE_CHECKING:
    from synthlab.training.trained import TrainedModel

SHOWN = 40  # letters of what a file says that a message repeats, escaped
WHOLE = ("length", "step")  # columns of whole numbers
STATUS = "status.json"
# Keys of status.json; records of before it had a checksum of itself are read too.
KEYS = {"results_version", "status", "diverged_at", "environment", "sha256"}


# A disk's or a network's errors are no damage.
GONE = (FileNotFoundError, NotADirectoryError, IsADirectoryError, NotRegular)
FILES = {"config.json", "metrics.csv", "training.csv", "outputs.csv"}  # of a record, beside its status and its weights
LONGEST = 64  # letters of a number in a table


class Damaged(ValueError):
    """A record that is not as it was written; the message says in a few words in what."""


@dataclass(frozen=True)
class Record:
    """One run: its config, its outcome, its numbers.

    Attributes:
        config: The checked config; ``config.id`` is the run's identity, a hash of all of it.
        metrics: A row for each test length: ``length``, then for tasks with a number for an answer ``mse`` (mean
            squared error in the units of the answer), ``mse_rep`` (the same in those of the map), ``relative_error``,
            ``bias`` and ``clipped``. Empty for a run that diverged.
        training: A row for each point of the training curve: ``step`` and ``loss``, the mean since the point before.
        diverged_at: The step at which the loss was not finite, else None.
        environment: What the run was made with, and when: versions, device, vector instructions, seconds.
        outputs: What a kind of run measures beside the test lengths, None for most: of a trained ``LinearAttention``
            the matrix M, a row for each last symbol, a column for each symbol attended to.
        weights: The steps after which the model's weights were kept, in order, each with a function that reads their
            file. Empty where none were. ``list(record.weights)`` are the steps; nothing is read until it is asked for.
        tags: The tags that the run was asked for under, in order of their names; they are no part of its identity.

    Example:
        >>> import synthlab
        >>> short = {"steps": 4, "batch": 4, "record_every": 2}  # 4 training steps, to be quick
        >>> record = synthlab.run(task="length", seed=7, test_length=20, protocol=short, progress=False)[0]
        >>> record.status, record.config.seed, record.settings()["encoding"]
        ('finished', 7, 'nope')
        >>> record.metrics["length"].tolist() == list(range(1, 21)), record.training["step"].tolist()
        (True, [2, 4])
    """

    config: Config
    metrics: pd.DataFrame
    training: pd.DataFrame
    diverged_at: int | None = None
    environment: dict[str, Any] = field(default_factory=dict)
    outputs: pd.DataFrame | None = None
    weights: Mapping[int, Callable[[], bytes]] = field(default_factory=dict, repr=False)
    tags: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """What training and testing took of one process; 0 where that is not recorded."""
        return sum(self.environment.get(part, 0.0) for part in ("train_seconds", "test_seconds"))

    @property
    def status(self) -> str:
        """``finished`` or ``diverged``."""
        return "finished" if self.diverged_at is None else "diverged"

    def settings(self) -> dict[str, Any]:
        """The config by dotted key: a group's name under the group's own (``encoding``), its other keys under
        ``group.key`` (``encoding.base``)."""
        return flatten(self.config.model_dump())

    @argument_checks.check_arguments
    def model(self, step: int | None = None) -> "TrainedModel":
        """The trained model, or the model as it was after ``step``, a point of the training curve. It is loaded where
        weights were kept, else trained again up to there. On the machine that trained it that gives the same model to
        the last bit; where the training curve differs, a warning says so. Raises InputError for a run that diverged,
        for another step, and for weights that are damaged or not this run's."""
        return self.config.family.open_model(self, step)


@dataclass(frozen=True)
class Failure:
    """A run that raised an error: ``error`` is the error in one line, ``traceback`` where it came from."""

    config: Config
    error: str
    traceback: str
    environment: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_error(cls, config: Config, error: BaseException, environment: dict[str, Any]) -> "Failure":
        """What there is to say of ``error``, which training ``config`` raised."""
        line = format_error(error).encode(errors="backslashreplace").decode()
        text = "".join(traceback.format_exception(error))
        return cls(config, line, text, environment)


def flatten(config: Mapping[str, Any]) -> dict[str, Any]:
    """A run's settings by dotted key: a group's name under the group's own, its other keys under ``group.key``. The
    kind of run is no setting and left out."""
    return {name: value for key, part in config.items() if key != "kind" for name, value in _flatten(key, part)}


def encode_files(record: Record) -> dict[str, bytes]:
    """The files that stand for ``record``, by name; ``status.json`` is the last."""
    texts = {
        "config.json": _json(record.config.model_dump()),
        "metrics.csv": record.metrics.to_csv(index=False),
        "training.csv": record.training.to_csv(index=False),
    }
    if record.outputs is not None:
        texts["outputs.csv"] = record.outputs.to_csv(index=False)
    files = {name: text.encode() for name, text in texts.items()}
    files |= {weights_name(step, record.config): read() for step, read in record.weights.items()}
    status = {
        "results_version": record.config.results_version,
        "status": record.status,
        "diverged_at": record.diverged_at,
        "environment": record.environment,
        "sha256": {name: _digest(data) for name, data in files.items()},
    }
    return files | {STATUS: _with_checksum(status)}


def record_of(identity: str, status: Mapping[str, Any], read: Callable[[str], bytes]) -> Record:
    """The record called ``identity``, without weights, from its status and its files, which ``read`` reads by
    name. Raises Damaged, OlderRecord or UnknownKind."""
    with damage_told():
        digests = {name: digest for name, digest in status["sha256"].items() if not is_weights(name)}
        files = {name: check_digest(name, read(name), digest) for name, digest in digests.items()}
        return Record(
            config=_present_config(parse_json(files["config.json"]), status["results_version"], identity),
            metrics=_table(files["metrics.csv"], "length"),
            training=_table(files["training.csv"], "step", "loss"),
            diverged_at=status["diverged_at"],
            environment={**status["environment"]},
            outputs=_table(files["outputs.csv"]) if "outputs.csv" in files else None,
        )


def status_with(status: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """``status.json`` of a record that has more ``files``."""
    more = {name: _digest(data) for name, data in files.items()}
    return _with_checksum({**status, "sha256": {**status["sha256"], **more}})


def status_of(data: bytes) -> dict[str, Any]:
    """What ``status.json`` says; raises Damaged unless it is as it was written, to the last byte."""
    with damage_told():
        status = parse_json(data)
        missing = KEYS - set(status)
        if missing:
            raise Damaged(f"{STATUS} lacks {', '.join(sorted(missing))}")
        plain = {key: value for key, value in status.items() if key != "checksum"}
        if set(plain) != KEYS or data not in (_with_checksum(plain), _json(plain).encode()):
            raise Damaged(f"{STATUS} does not have its checksum")
        others = [name for name in {**plain["sha256"]} if name not in FILES and not is_weights(name)]
        if others:
            raise Damaged(f"{STATUS} names {others[0]!r:.{SHOWN}}, which is no file of a record")
        return plain


def failure_files(failure: Failure) -> dict[str, bytes]:
    """The files that stand for ``failure``, by name; ``status.json`` is the last."""
    trace = failure.traceback.encode(errors="backslashreplace")  # messages may hold what is no text
    status = {
        "results_version": failure.config.results_version,
        "status": "failed",
        "error": failure.error,
        "environment": failure.environment,
        "config": failure.config.model_dump(),
        "sha256": {"traceback.txt": _digest(trace)},
    }
    return {"traceback.txt": trace, STATUS: _with_checksum(status)}


def failure_of(identity: str, files: Mapping[str, bytes]) -> Failure:
    """Why the run called ``identity`` failed, as ``files`` say. Raises Damaged, OlderRecord or UnknownKind."""
    with damage_told():
        status = parse_json(files[STATUS])
        plain = {key: value for key, value in status.items() if key != "checksum"}
        if files[STATUS] != _with_checksum(plain):
            raise Damaged(f"{STATUS} does not have its checksum")
        trace = check_digest("traceback.txt", files["traceback.txt"], status["sha256"]["traceback.txt"])
        config = _present_config(status["config"], status["results_version"], identity)
        return Failure(config, status["error"], trace.decode(), status["environment"])


@contextmanager
def damage_told() -> Iterator[None]:
    """Turn whatever reading what is damaged raises into Damaged. Errors of a disk or a network are no damage."""
    try:
        yield
    except (Damaged, OlderRecord, UnknownKind):
        raise
    except Exception as error:
        if is_of_memory(error) or (isinstance(error, OSError) and not isinstance(error, GONE)):
            raise
        raise Damaged(format_error(error)) from None


def _present_config(raw: Mapping[str, Any], version: int, identity: str) -> Config:
    """The config in the sound record called ``identity``."""
    if "kind" not in raw:
        raise OlderRecord("it is older than kinds of runs")
    kind = kind_of(raw)
    if version != kind.results_version:
        raise OlderRecord(f"it is of results version {version}; the present one is {kind.results_version}")
    config = kind.from_raw(raw)
    if config.id != identity:
        raise Damaged(f"it holds the run {config.id}")
    return config


def check_digest(name: str, data: bytes, digest: str) -> bytes:
    """What a file of a record holds; raises Damaged unless it has its checksum."""
    if _digest(data) != digest:
        raise Damaged(f"{name} does not have its checksum")
    return data


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _with_checksum(status: Mapping[str, Any]) -> bytes:
    return _json({**status, "checksum": _digest(_json(status).encode())}).encode()


def _json(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"


def _table(data: bytes, *needed: str) -> pd.DataFrame:
    # Not by pandas' own reader: it takes a millisecond a file, and not every version of it reads floats back to the
    # last bit by default.
    names, *rows = csv.reader(StringIO(data.decode()))
    if not {*needed} <= {*names}:
        raise Damaged(f"a table lacks {', '.join(sorted({*needed} - {*names}))}")
    if max(map(len, chain.from_iterable(rows)), default=0) > LONGEST:  # NumPy gives each cell the room of the longest
        raise Damaged("a table has an entry that is no number")
    columns = np.array(rows, dtype=str).reshape(len(rows), len(names)).T
    columns = np.where(columns == "", "nan", columns)  # how pandas writes NaN, which can be what was measured
    kinds = ["int64" if name in WHOLE else "float64" for name in names]
    return pd.DataFrame({name: column.astype(kind) for name, column, kind in zip(names, columns, kinds, strict=True)})


def _flatten(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield key, value
        return
    for inner, item in value.items():
        yield from _flatten(key if inner == "name" else f"{key}.{inner}", item)
