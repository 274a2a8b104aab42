"""Records of runs: the numbers of a run or its failure, and their files.

A record is a group of files: ``config.json``, ``metrics.csv`` (a row for each test length), ``training.csv`` (the
training curve), for some kinds of runs ``outputs.csv``, files of weights where these are saved (``checkpoints.py``),
and ``status.json``, which holds the outcome, the environment, a checksum of each other file and one of itself.
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

SHOWN = 40  # the most characters of a file's content that a message repeats, escaped
WHOLE = ("length", "step")  # columns of integers
STATUS = "status.json"
# Keys of status.json; older records without its own checksum can be read too.
KEYS = {"results_version", "status", "diverged_at", "environment", "sha256"}


# Errors of a disk or a network do not count as damage.
GONE = (FileNotFoundError, NotADirectoryError, IsADirectoryError, NotRegular)
# The files of a record, besides its status and its weights.
FILES = {"config.json", "metrics.csv", "training.csv", "outputs.csv"}
LONGEST = 64  # the most characters of a number in a table


class Damaged(ValueError):
    """A record that differs from what was written; the message describes the damage in a few words."""


@dataclass(frozen=True)
class Record:
    """One run: its config, outcome and numbers.

    Attributes:
        config: The checked config; ``config.id`` is the run's identity, a hash of all of it.
        metrics: A row for each test length: ``length``, then for regression tasks ``mse`` (mean squared error in the
            units of the target), ``mse_rep`` (the same in representation space), ``relative_error``, ``bias`` and
            ``clipped``. Empty for a run that diverged.
        training: A row for each point of the training curve: ``step`` and ``loss``, the mean since the point before.
        diverged_at: The step at which the loss was not finite, else None.
        environment: How and when the run was trained: versions, device, vector instructions, seconds.
        outputs: Measurements of some kinds of runs other than those by length, else None. For a trained
            ``LinearAttention`` this is the matrix M: a row for each last symbol, a column for each attended symbol.
        weights: The steps after which the model's weights were saved, in order, each with a function that reads their
            file. Empty if none were saved. ``list(record.weights)`` are the steps; files are read on demand.
        tags: The run's tags, sorted; they are not part of its identity.

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
        """Seconds of training and testing on one process; 0 if not recorded."""
        return sum(self.environment.get(part, 0.0) for part in ("train_seconds", "test_seconds"))

    @property
    def status(self) -> str:
        """``finished`` or ``diverged``."""
        return "finished" if self.diverged_at is None else "diverged"

    def settings(self) -> dict[str, Any]:
        """Return the config by dotted key.

        A group's name is under the group's own key (``encoding``), its other keys under ``group.key``
        (``encoding.base``).
        """
        return flatten(self.config.model_dump())

    @argument_checks.check_arguments
    def model(self, step: int | None = None) -> "TrainedModel":
        """Return the trained model, or the model as it was after ``step``, a point of the training curve.

        It is loaded if weights were saved, else trained again. On the machine that trained it, training again gives the
        same model to the last bit; if the training curve differs, a warning says so.

        Raises:
            InputError: The run diverged, there is no such step, or the weights are damaged or not this run's.
        """
        return self.config.family.open_model(self, step)


@dataclass(frozen=True)
class Failure:
    """A run that raised an error: ``error`` is the error in one line, ``traceback`` where it was raised."""

    config: Config
    error: str
    traceback: str
    environment: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_error(cls, config: Config, error: BaseException, environment: dict[str, Any]) -> "Failure":
        """Return the failure for ``error``, which training ``config`` raised."""
        line = format_error(error).encode(errors="backslashreplace").decode()
        text = "".join(traceback.format_exception(error))
        return cls(config, line, text, environment)


def flatten(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's settings by dotted key, without the kind of run.

    A group's name is under the group's own key, its other keys under ``group.key``.
    """
    return {name: value for key, part in config.items() if key != "kind" for name, value in _flatten(key, part)}


def encode_files(record: Record) -> dict[str, bytes]:
    """Return the files of ``record``, by name; ``status.json`` is the last."""
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
    """Return the record called ``identity``, without weights, from its status and its files, which ``read`` reads.

    Raises Damaged, OlderRecord or UnknownKind.
    """
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
    """Return the ``status.json`` of a record with additional ``files``."""
    more = {name: _digest(data) for name, data in files.items()}
    return _with_checksum({**status, "sha256": {**status["sha256"], **more}})


def status_of(data: bytes) -> dict[str, Any]:
    """Return the content of ``status.json``. Raises Damaged unless it is as it was written, to the last byte."""
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
    """Return the files of ``failure``, by name; ``status.json`` is the last."""
    trace = failure.traceback.encode(errors="backslashreplace")  # messages may hold bytes that are not text
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
    """Return the failure of the run called ``identity`` from its ``files``.

    Raises Damaged, OlderRecord or UnknownKind.
    """
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
    """Turn any error of reading damaged data into Damaged. Errors of a disk or a network are not damage."""
    try:
        yield
    except (Damaged, OlderRecord, UnknownKind):
        raise
    except Exception as error:
        if is_of_memory(error) or (isinstance(error, OSError) and not isinstance(error, GONE)):
            raise
        raise Damaged(format_error(error)) from None


def _present_config(raw: Mapping[str, Any], version: int, identity: str) -> Config:
    """Return the config in the undamaged record called ``identity``."""
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
    """Return the content of a file of a record. Raises Damaged unless it has its checksum."""
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
    # Not by pandas' reader: it takes a millisecond a file, and some versions do not read floats back to the last bit by
    # default.
    names, *rows = csv.reader(StringIO(data.decode()))
    if not {*needed} <= {*names}:
        raise Damaged(f"a table lacks {', '.join(sorted({*needed} - {*names}))}")
    if max(map(len, chain.from_iterable(rows)), default=0) > LONGEST:  # NumPy gives each cell the width of the longest
        raise Damaged("a table has an entry that is no number")
    columns = np.array(rows, dtype=str).reshape(len(rows), len(names)).T
    columns = np.where(columns == "", "nan", columns)  # the text for NaN, which can be a measured value
    kinds = ["int64" if name in WHOLE else "float64" for name in names]
    return pd.DataFrame({name: column.astype(kind) for name, column, kind in zip(names, columns, kinds, strict=True)})


def _flatten(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield key, value
        return
    for inner, item in value.items():
        yield from _flatten(key if inner == "name" else f"{key}.{inner}", item)
