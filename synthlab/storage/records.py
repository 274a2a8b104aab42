"""Records of runs: the numbers of a run, or its failure; and how they are rows of Parquet files and JSON.

A row of a Parquet file holds a run (``encode``): its id, its settings as JSON, its outcome, its environment, and a
nested table each for ``metrics`` (a row for each test length), ``training`` (the training curve) and, for some kinds of
runs, ``outputs``. The seeds are columns of their own, and null in the settings, so that the runs of a sweep share a few
texts of settings, each of which is stored and checked once. Numbers are exact.
"""

import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from synthlab.errors import DamagedRecord, OlderRecord, format_error
from synthlab.runs.run import Run, run_type
from synthlab.storage.files import checksum

if TYPE_CHECKING:
    from torch import Tensor

    from synthlab.training.trained import TrainedModel

ReadWeights = Callable[[], Mapping[str, "Tensor"]]

INTEGER_COLUMNS = ("length", "step")  # columns of integers; all others are of double precision
SEEDS = Run.SEEDS
GROUP_ROWS = 100  # rows of a row group, the smallest part of a file that is decoded
NESTED_COLUMNS = ("metrics", "training", "outputs")
# The columns of a row that are not nested. ``horizon`` follows from the metrics, and saves reading them.
COLUMNS: dict[str, pa.DataType] = {
    "id": pa.string(),
    "family": pa.string(),
    "results_version": pa.int64(),
    "status": pa.string(),
    "diverged_at": pa.int64(),
    "horizon": pa.int64(),
    **dict.fromkeys(SEEDS, pa.int64()),
    "settings": pa.string(),
    "environment": pa.string(),
    "weights_file": pa.string(),
    "weights_index": pa.int64(),
    "weights": pa.list_(pa.int64()),
}
DICTIONARY_COLUMNS = ["family", "status", "settings", "environment", "weights_file"]  # columns of few different values


@dataclass(frozen=True)
class Record:
    """One run: its config, outcome and numbers.

    Attributes:
        config: The checked config; ``config.id`` is the run's identity, a hash of all of it.
        metrics: A row for each test length: ``length``, then for number tasks ``mse`` (mean squared error in the
            units of the target), ``mse_rep`` (the same in representation space), ``relative_error``, ``bias`` and
            ``clipped``. Empty for a run that diverged.
        training: A row for each point of the training curve: ``step`` and ``loss``, the mean since the point before.
        diverged_at: The step at which the loss was not finite, else None.
        environment: How and when the run was trained: versions, device, vector instructions, seconds.
        outputs: Measurements of some kinds of runs other than those by length, else None. For a trained
            ``LinearAttention`` this is the matrix M: a row for each last symbol, a column for each attended symbol.
        weights: The steps after which the model's weights were saved, in order, each with a function that reads them:
            tensors by name, each with a leading dimension of size 1. Empty if none were saved. ``list(record.weights)``
            are the steps; weights are read on demand.
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

    config: Run
    metrics: pd.DataFrame
    training: pd.DataFrame
    diverged_at: int | None = None
    environment: dict[str, Any] = field(default_factory=dict)
    outputs: pd.DataFrame | None = None
    weights: Mapping[int, ReadWeights] = field(default_factory=dict, repr=False)
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

    def model(self, step: int | None = None) -> "TrainedModel":
        """Return the trained model, or the model as it was after ``step``, a point of the training curve.

        It is loaded if weights were saved, else trained again. On the machine that trained it, training again gives the
        same model to the last bit; if the training curve differs, a warning says so.

        Raises:
            InputError: The run diverged, there is no such step, or the weights are damaged or not this run's.
        """
        return self.config.load_family().open_model(self, step)


@dataclass(frozen=True)
class Failure:
    """A run that raised an error: ``error`` is the error in one line, ``traceback`` where it was raised."""

    config: Run
    error: str
    traceback: str
    environment: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_error(cls, config: Run, error: BaseException, environment: dict[str, Any]) -> "Failure":
        """Return the failure for ``error``, which training ``config`` raised."""
        texts = format_error(error), "".join(traceback.format_exception(error))
        line, trace = (text.encode(errors="backslashreplace").decode() for text in texts)  # messages may be no text
        return cls(config, line, trace, environment)


def flatten(config: Mapping[str, Any], group: str = "") -> dict[str, Any]:
    """Return a run's settings by dotted key, without its family.

    A group's name is under the group's own key, its other keys under ``group.key``.
    """
    flat: dict[str, Any] = {}
    for key, value in config.items():
        name = f"{group}.{key}" if group and key != "name" else group or key
        if isinstance(value, dict):
            flat |= flatten(value, name)
        elif name != "family":
            flat[name] = value
    return flat


def encode(records: Sequence[Record], weights_file: str | None) -> bytes:
    """Return a Parquet file with a row for each record of a group, whose ids its footer names too.

    ``weights_file`` has the weights of all records, in this order; None if they have none.
    """
    rows = [
        _describe(record.config)
        | {
            "status": record.status,
            "diverged_at": record.diverged_at,
            "horizon": record.horizon,
            "environment": json.dumps(record.environment),
            "weights_file": weights_file,
            "weights_index": None if weights_file is None else index,
            "weights": [*record.weights],
        }
        for index, record in enumerate(records)
    ]
    table, sink = pa.Table.from_pylist(rows, pa.schema(COLUMNS)), BytesIO()
    for name in NESTED_COLUMNS:
        nested = _nest([getattr(record, name) for record in records])
        table = table if nested is None else table.append_column(name, nested)
    how: Any = {"compression": "zstd", "use_dictionary": DICTIONARY_COLUMNS, "write_statistics": False}
    with pq.ParquetWriter(sink, table.schema, store_schema=False, **how) as writer:
        writer.write_table(table, row_group_size=GROUP_ROWS)
        ids = " ".join(row["id"] for row in rows)
        writer.add_key_value_metadata({"ids": ids, "checksum": checksum(ids.encode())})
    return sink.getvalue()


def read_ids(about: Mapping[bytes, bytes]) -> list[str]:
    """Return the ids in what the footer of a file of ``encode`` is ``about``. Raises any error if it is damaged."""
    if checksum(about[b"ids"]) != about[b"checksum"].decode():
        raise ValueError("its ids do not have their checksum")
    return about[b"ids"].decode().split()


def _nest(tables: Sequence[pd.DataFrame | None]) -> pa.Array | None:
    """Return a column of nested tables, each a struct of lists; None without any."""
    columns = dict.fromkeys(column for table in tables if table is not None for column in table)
    kinds = [(str(column), pa.list_(pa.from_numpy_dtype(_type_of(column)))) for column in columns]
    lists = [
        None
        if table is None
        else {str(c): values.astype(_type_of(c)) for c, values in zip(table, table.to_numpy(float).T, strict=True)}
        for table in tables
    ]
    return pa.array(lists, pa.struct(kinds)) if kinds else None


def type_columns(record: Record) -> Record:
    """Return the record with tables whose columns have the types with which they are read."""
    tables = {name: getattr(record, name) for name in NESTED_COLUMNS if getattr(record, name) is not None}
    types = {name: {column: _type_of(column) for column in table} for name, table in tables.items()}
    typed = {
        name: table.astype(types[name]) for name, table in tables.items() if [*table.dtypes] != [*types[name].values()]
    }
    return replace(record, **typed) if typed else record


def _type_of(column: object) -> type[np.generic]:
    return np.int64 if column in INTEGER_COLUMNS else np.float64


def _describe(config: Run) -> dict[str, Any]:
    """Return the part of a row that ``_read_config`` reads."""
    settings = config.model_dump()
    seeds = {name: settings[name] for name in SEEDS if name in settings}
    return seeds | {
        "id": config.id,
        "family": config.family,
        "results_version": config.results_version,
        "settings": json.dumps(settings | dict.fromkeys(seeds)),
    }


def _read_config(row: Mapping[str, Any]) -> Run:
    """Return the run of a row. Raises OlderRecord, UnknownFamily, or DamagedRecord if the row's id is another's."""
    run_class = run_type(row["family"])
    if row["results_version"] != run_class.results_version:
        raise OlderRecord(
            f"it is of results version {row['results_version']}; the present one is {run_class.results_version}"
        )
    seeds = {name: row[name] for name in run_class.SEEDS}
    config = _read_settings(row["settings"]).model_copy(update=seeds)
    if config.id != row["id"]:
        raise DamagedRecord(f"{row['id']}: damaged (it holds the run {config.id})")
    return config


@lru_cache(maxsize=10_000)
def _read_settings(text: str) -> Run:
    """Return the run that the settings of a row describe, with 0 for each seed."""
    settings = json.loads(text)
    return run_type(settings["family"]).from_raw(settings | {name: 0 for name in SEEDS if name in settings})


def to_record(row: Mapping[str, Any], weights: Mapping[int, ReadWeights], tags: tuple[str, ...]) -> Record:
    """Return the record in a row of ``encode``, with its weights and tags.

    Raises OlderRecord, UnknownFamily, or DamagedRecord if the row's id is that of another run.
    """
    tables: dict[str, Any] = {
        name: pd.DataFrame({column: np.array(values, _type_of(column)) for column, values in row[name].items()})
        for name in NESTED_COLUMNS
        if row.get(name)
    }
    return Record(
        _read_config(row),
        diverged_at=row["diverged_at"],
        environment=json.loads(row["environment"]),
        weights=weights,
        tags=tags,
        **tables,
    )


def encode_failure(failure: Failure) -> bytes:
    """Return ``failure`` as JSON."""
    about = {"error": failure.error, "traceback": failure.traceback, "environment": failure.environment}
    return json.dumps(_describe(failure.config) | about, indent=1).encode()


def decode_failure(data: bytes) -> Failure:
    """Return the failure in a file of ``encode_failure``. Raises any error if it is damaged, else as ``to_record``."""
    about = json.loads(data)
    return Failure(_read_config(about), about["error"], about["traceback"], about["environment"])
