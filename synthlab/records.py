"""What a run leaves behind, and the store it is kept in.

A record is a folder named by the run's identity: ``config.json``, ``metrics.csv`` (a row for each test length),
``training.csv`` (the training curve), for the theory's model ``outputs.csv``, and ``status.json``, which holds the
outcome, the environment and a checksum of each other file. It is written under another name and renamed when complete,
so that it is there whole or not at all.
"""

import csv
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthlab.config import RESULTS_VERSION, RunConfig
from synthlab.errors import InputError
from synthlab.registry import shown

WHOLE = ("length", "step")  # columns of whole numbers
STALE = 3600  # seconds after which a half-written record must be an interrupted run's


@dataclass(frozen=True)
class Record:
    """One run: its config, its outcome, its numbers.

    ``metrics`` has a row for each test length (columns ``length`` and those of ``metrics.METRICS``), ``training`` one
    for each point of the training curve (``step``, ``loss``). A run whose loss was not finite has status "diverged",
    the step in ``diverged_at``, and no metrics. ``outputs`` is what a trained ``LinearAttention`` computes: M, a row
    for each last symbol, a column for each symbol attended to; None for other models, and where it diverged.
    """

    config: RunConfig
    metrics: pd.DataFrame
    training: pd.DataFrame
    diverged_at: int | None = None
    environment: dict[str, Any] = field(default_factory=dict)
    outputs: pd.DataFrame | None = None

    @property
    def status(self) -> str:
        """``finished`` or ``diverged``."""
        return "finished" if self.diverged_at is None else "diverged"

    def settings(self) -> dict[str, Any]:
        """The config, flat: a group's name under the group's own, its other keys under ``group.key``."""
        return {name: value for key, part in self.config.model_dump().items() for name, value in _flat(key, part)}


class Store:
    """The records below one folder, by identity. Iterating reads those of the present results version."""

    def __init__(self, root: Any):
        if not isinstance(root, str | os.PathLike) or not str(root):
            raise InputError(f"results={shown(root)}: must be the path of a folder")
        self.root = Path(root)
        self.runs = self.root / "runs"

    def make_writable(self, folder: str = "runs") -> Path:
        """Make ``folder`` below the root, try to write to it, and return it; raises InputError if that fails."""
        path = self.root / folder
        probe = path / f".probe-{secrets.token_hex(4)}"
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise InputError(f"results={self.root}: cannot be written ({error.strerror}); give a folder") from None
        return path

    def sweep(self) -> None:
        """Remove what interrupted runs left half-written."""
        for left in self.runs.glob(".partial-*"):
            with suppress(FileNotFoundError):  # another process may just have finished it
                if time.time() - left.stat().st_mtime > STALE:
                    shutil.rmtree(left, ignore_errors=True)

    def ids(self) -> Iterator[str]:
        """The identities of all records, in order of name; other files are passed over."""
        if self.runs.is_dir():
            yield from sorted(path.name for path in self.runs.iterdir() if re.fullmatch(r"[0-9a-f]{16}", path.name))

    def __iter__(self) -> Iterator[Record]:
        for identity in self.ids():
            status = self._status(identity)
            if status["results_version"] == RESULTS_VERSION:
                yield self._record(identity, status)

    def holds(self, config: RunConfig) -> bool:
        """Whether this run has been recorded; its record is not read."""
        return (self.runs / config.id).exists()

    def find(self, config: RunConfig) -> Record | None:
        """The record of this run, or None if it has not been made. Raises InputError for a damaged one."""
        return self.read(config.id) if self.holds(config) else None

    def read(self, identity: str) -> Record:
        """The record called ``identity``; raises InputError, naming the file, if it is damaged."""
        return self._record(identity, self._status(identity))

    def _record(self, identity: str, status: dict[str, Any]) -> Record:
        folder = self.runs / identity
        with _damage_named(folder):
            files = {name: _checked(folder / name, digest) for name, digest in status["sha256"].items()}
            config = RunConfig.checked(json.loads(files["config.json"]))
            if config.id != identity:
                raise _Damaged(f"it holds the run {config.id}")
            return Record(
                config=config,
                metrics=_table(files["metrics.csv"]),
                training=_table(files["training.csv"]),
                diverged_at=status["diverged_at"],
                environment=status["environment"],
                outputs=_table(files["outputs.csv"]) if "outputs.csv" in files else None,
            )

    def _status(self, identity: str) -> dict[str, Any]:
        folder = self.runs / identity
        with _damage_named(folder):
            status = json.loads((folder / "status.json").read_text())
            missing = {"results_version", "diverged_at", "environment", "sha256"} - set(status)
            if missing:
                raise _Damaged(f"status.json lacks {', '.join(sorted(missing))}")
            return status

    def write(self, record: Record) -> None:
        """Keep ``record``, whole or not at all. One that is already there stays as it is."""
        files = {
            "config.json": json.dumps(record.config.model_dump(), indent=1) + "\n",
            "metrics.csv": record.metrics.to_csv(index=False),
            "training.csv": record.training.to_csv(index=False),
        }
        if record.outputs is not None:
            files["outputs.csv"] = record.outputs.to_csv(index=False)
        status = {
            "results_version": RESULTS_VERSION,
            "status": record.status,
            "diverged_at": record.diverged_at,
            "environment": record.environment,
            "sha256": {name: _digest(text.encode()) for name, text in files.items()},
        }
        files["status.json"] = json.dumps(status, indent=1) + "\n"
        partial = self.runs / f".partial-{record.config.id}-{secrets.token_hex(4)}"
        partial.mkdir(parents=True)
        for name, text in files.items():
            with open(partial / name, "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        try:
            partial.rename(self.runs / record.config.id)
        except OSError:  # another process has made the same record in the meantime
            shutil.rmtree(partial)
            if not (self.runs / record.config.id).is_dir():
                raise


def write_whole(path: Path, text: str) -> None:
    """Write ``path`` under another name first, so that it is there whole or as it was."""
    partial = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        partial.write_text(text)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


class _Damaged(ValueError):
    pass


@contextmanager
def _damage_named(folder: Path) -> Iterator[None]:
    """Turn whatever reading a damaged record raises into one line that names it."""
    try:
        yield
    except (OSError, KeyError, TypeError, ValueError) as error:
        text = str(error) if isinstance(error, _Damaged) else f"{type(error).__name__}: {error}"
        reason = " ".join(text.split())
        raise InputError(f"{folder}: damaged record ({reason}); remove the folder to train it again") from None


def _checked(path: Path, digest: str) -> str:
    data = path.read_bytes()
    if _digest(data) != digest:
        raise _Damaged(f"{path.name} does not have its checksum")
    return data.decode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _table(text: str) -> pd.DataFrame:
    # Not by pandas' own reader: it takes a millisecond a file, and not every version of it reads floats back to the
    # last bit by default.
    names, *rows = csv.reader(StringIO(text))
    columns = np.array(rows, dtype=str).reshape(len(rows), len(names)).T
    kinds = ["int64" if name in WHOLE else "float64" for name in names]
    return pd.DataFrame({name: column.astype(kind) for name, column, kind in zip(names, columns, kinds, strict=True)})


def _flat(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield key, value
        return
    for inner, item in value.items():
        yield from _flat(key if inner == "name" else f"{key}.{inner}", item)
