"""Records of runs: the numbers of a run, or its failure; and how they are rows of Parquet files and of JSON.

A row of a Parquet file holds a run (``to_table``): its id, its settings as JSON, its outcome, its environment, and a
nested table each for ``metrics`` (a row for each test length), ``training`` (the training curve) and, for some kinds of
runs, ``outputs``. The seeds are columns of their own, and null in the settings, so that the runs of a sweep share a few
texts of settings, each of which is stored and checked once. Numbers are exact.
"""

import hashlib
import json
import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from synthlab.config import argument_checks
from synthlab.config.base import Config, kind_of
from synthlab.errors import OlderRecord, UnknownKind, format_error
from synthlab.storage.files import parse_json

if TYPE_CHECKING:
    from synthlab.training.trained import TrainedModel

WHOLE = ("length", "step")  # columns of integers; all others are of double precision
SEEDS = Config.SEEDS
GROUP = 256  # rows of a row group, the smallest part of a file that is read
NESTED = ("metrics", "training", "outputs")
# The columns of a row that are not nested. ``horizon`` follows from the metrics, and saves reading them.
COLUMNS: dict[str, pa.DataType] = {
    "id": pa.string(),
    "kind": pa.string(),
    "results_version": pa.int64(),
    "status": pa.string(),
    "diverged_at": pa.int64(),
    "horizon": pa.int64(),
    **dict.fromkeys(SEEDS, pa.int64()),
    "settings": pa.string(),
    "environment": pa.string(),
    "weights_file": pa.string(),
    "weights_index": pa.int64(),
    "weights": pa.list_(pa.struct([("step", pa.int64()), ("sha256", pa.string())])),
}
REPEATED = ["kind", "status", "settings", "environment", "weights_file"]  # columns of few different values


class Damaged(ValueError):
    """A record that differs from what was written; the message describes the damage in a few words."""


class SavedWeights(NamedTuple):
    """Where the weights of a run are: the file of its group, its place there, and a checksum for each step."""

    file: str
    place: int
    sha256: dict[int, str]


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

    @property
    def horizon(self) -> int | None:
        """The horizon of a finished run; None for one that diverged, and for kinds of runs without horizon."""
        horizon = self.config.measures().horizon
        return None if horizon is None or self.diverged_at is not None else horizon(self.config, self.metrics)

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


def _flatten(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield key, value
        return
    for inner, item in value.items():
        yield from _flatten(key if inner == "name" else f"{key}.{inner}", item)


def nested_columns(record: Record) -> tuple[Any, ...]:
    """Return the columns of the nested tables of a record: only records that have the same share a file."""
    tables = (record.metrics, record.training, record.outputs)
    return tuple(None if table is None else tuple(table) for table in tables)


def to_table(records: Mapping[str, Record], weights: Sequence[SavedWeights | None]) -> pa.Table:
    """Return a row for each record, given by id; all have the same ``nested_columns``."""
    rows = [_row(*item, saved) for item, saved in zip(records.items(), weights, strict=True)]
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in COLUMNS.items()}
    for name in NESTED:
        tables = [getattr(record, name) for record in records.values()]
        if tables[0] is not None:
            columns[name] = _nest(tables)
    return pa.table(columns)


def _row(identity: str, record: Record, saved: SavedWeights | None) -> dict[str, Any]:
    config = record.config
    settings = config.model_dump()
    seeds = {name: settings[name] for name in SEEDS if name in settings}
    row = {
        "id": identity,
        "kind": config.kind,
        "results_version": config.results_version,
        "status": record.status,
        "diverged_at": record.diverged_at,
        "horizon": record.horizon,
        "settings": json.dumps(settings | dict.fromkeys(seeds)),
        "environment": json.dumps(record.environment),
        "weights_file": saved and saved.file,
        "weights_index": saved and saved.place,
        "weights": [{"step": step, "sha256": sha256} for step, sha256 in saved.sha256.items()] if saved else [],
    }
    return dict.fromkeys(SEEDS) | row | seeds


def _nest(tables: Sequence[pd.DataFrame]) -> pa.StructArray:
    """Return a table in each row, as a struct of lists."""
    ends = np.cumsum([0, *map(len, tables)])
    lists = {}
    for name in tables[0]:
        kind = np.int64 if name in WHOLE else np.float64
        values = np.concatenate([table[name].to_numpy(kind) for table in tables])
        lists[str(name)] = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(values))
    return pa.StructArray.from_arrays(list(lists.values()), list(lists))


class Lists(NamedTuple):
    """The nested tables of several rows: the values of each column, one row after the other, and where each ends."""

    columns: dict[str, np.ndarray]
    ends: np.ndarray  # of one number more than rows, from 0

    def frame(self, row: int) -> pd.DataFrame:
        """Return the table in one row."""
        begin, end = self.ends[row], self.ends[row + 1]
        return pd.DataFrame({name: values[begin:end].copy() for name, values in self.columns.items()})


def read_lists(rows: pa.Table, name: str) -> Lists:
    """Return the nested tables in the column ``name`` of ``rows``."""
    nested = rows[name].combine_chunks()
    if isinstance(nested, pa.ChunkedArray):  # of no or of several chunks
        nested = pa.concat_arrays(nested.chunks) if nested.num_chunks else pa.array([], nested.type)
    lists = {field.name: part for field, part in zip(nested.type, nested.flatten(), strict=True)}
    sizes = next((part.value_lengths().to_numpy(zero_copy_only=False) for part in lists.values()), np.zeros(len(rows)))
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Lists({key: part.flatten().to_numpy(zero_copy_only=False) for key, part in lists.items()}, ends)


def encode_table(table: pa.Table) -> tuple[bytes, str]:
    """Return ``table`` as a Parquet file, and a checksum of its footer.

    The footer names the runs, and has a checksum for each row group: Parquet's own leave out the headers of pages.
    """
    sink, sums = BytesIO(), list[tuple[int, int, str]]()
    repeated = [*REPEATED, "metrics.length.list.element", "training.step.list.element"]
    with pq.ParquetWriter(
        sink, table.schema, compression="zstd", use_dictionary=repeated, write_statistics=False,
        store_schema=False, write_page_checksum=True,
    ) as writer:  # fmt: skip
        for row in range(0, len(table), GROUP):
            begin = sink.tell()
            writer.write_table(table.slice(row, GROUP))
            sums.append((begin, sink.tell(), _hash(sink.getbuffer()[begin:])))
        writer.add_key_value_metadata({"ids": " ".join(table["id"].to_pylist()), "groups": json.dumps(sums)})
    return sink.getvalue(), hash_footer(sink)


def open_table(file: BinaryIO, checksum: str) -> pq.ParquetFile:
    """Return a Parquet file of ``encode_table`` to be read. Raises Damaged unless its footer has the checksum."""
    if hash_footer(file) != checksum:
        raise Damaged("its footer does not have its checksum")
    file.seek(0)
    return pq.ParquetFile(file, page_checksum_verification=True, read_dictionary=REPEATED)


def read_ids(table: pq.ParquetFile) -> pa.Array:
    """Return the identities of the runs in a file of ``encode_table``, in order."""
    return pa.array(table.metadata.metadata[b"ids"].decode().split())


def check_group(table: pq.ParquetFile, file: BinaryIO, group: int) -> None:
    """Raise Damaged unless a row group has its checksum."""
    begin, end, checksum = json.loads(table.metadata.metadata[b"groups"])[group]
    file.seek(begin)
    if _hash(file.read(end - begin)) != checksum:
        raise Damaged("its rows do not have their checksum")


def hash_footer(file: BinaryIO) -> str:
    """Return the checksum of the footer, which describes the rest."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    file.seek(max(0, size - 8 - int.from_bytes(file.read(4), "little")))
    return _hash(file.read())


def _hash(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def is_damage(error: Exception) -> bool:
    """Return True for an error of reading that damaged bytes cause, False for one of a disk or a network."""
    if isinstance(error, OSError):
        return error.errno is None  # of Arrow
    return isinstance(error, ValueError | KeyError | TypeError | IndexError | AttributeError)


def restore_settings(text: str, seeds: Mapping[str, int | None]) -> dict[str, Any]:
    """Return the settings of a row as ``Config.model_dump`` gave them."""
    settings = parse_json(text)
    return settings | {name: seed for name, seed in seeds.items() if name in settings}


@lru_cache(maxsize=10_000)
def _check_settings(text: str) -> Config:
    """Return the run that the settings of a row describe, with 0 for each seed."""
    settings = restore_settings(text, dict.fromkeys(SEEDS, 0))
    return kind_of(settings).from_raw(settings)


def restore_config(row: Mapping[str, Any]) -> Config:
    """Return the config of a row, given as a mapping. Raises Damaged, OlderRecord or UnknownKind."""
    kind = kind_of(row)
    if row["results_version"] != kind.results_version:
        raise OlderRecord(
            f"it is of results version {row['results_version']}; the present one is {kind.results_version}"
        )
    try:
        config = _check_settings(row["settings"])
        seeds = {name: row[name] for name in kind.SEEDS if name in kind.model_fields}
        config = config.model_copy(update=seeds)
    except UnknownKind:
        raise
    except Exception as error:
        raise Damaged(format_error(error)) from None
    if config.id != row["id"]:
        raise Damaged(f"{row['id']} holds the run {config.id}")
    return config


def to_records(rows: pa.Table) -> Iterator[tuple[dict[str, Any], Callable[[], Record]]]:
    """Yield each row without its nested tables, and a function that returns its record, as yet without weights.

    The function raises as ``restore_config`` does.
    """
    lists = {name: read_lists(rows, name) for name in NESTED if name in rows.column_names}
    for number, row in enumerate(rows.select(list(COLUMNS)).to_pylist()):

        def restore(number: int = number, row: Mapping[str, Any] = row) -> Record:
            tables: dict[str, Any] = {name: each.frame(number) for name, each in lists.items()}
            environment = parse_json(row["environment"])
            return Record(restore_config(row), diverged_at=row["diverged_at"], environment=environment, **tables)

        yield row, restore


def encode_failure(failure: Failure) -> bytes:
    """Return ``failure`` as JSON, with a checksum."""
    about = {
        "id": failure.config.id,
        "kind": failure.config.kind,
        "results_version": failure.config.results_version,
        "status": "failed",
        "error": failure.error,
        "traceback": failure.traceback.encode(errors="backslashreplace").decode(),  # messages may be no text
        "settings": failure.config.model_dump(),
        "environment": failure.environment,
    }
    return json.dumps(about | {"sha256": _hash_json(about)}, indent=1).encode()


def decode_failure(data: bytes, identity: str) -> Failure:
    """Return the failure of the run called ``identity``. Raises Damaged, OlderRecord or UnknownKind."""
    try:
        about = parse_json(data)
        if about.pop("sha256") != _hash_json(about):
            raise Damaged("it does not have its checksum")
    except Exception as error:
        raise Damaged(format_error(error)) from None
    settings = about["settings"]
    seeds = {name: settings.get(name) for name in SEEDS}
    row = about | seeds | {"id": identity, "settings": json.dumps(settings)}
    return Failure(restore_config(row), about["error"], about["traceback"], about["environment"])


def _hash_json(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
