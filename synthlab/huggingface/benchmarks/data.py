"""The data of the harness's tasks: from Hugging Face's hub, or from a folder with the same names."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from synthlab.errors import InputError, format_error

READERS = {".jsonl": "json", ".json": "json", ".csv": "csv", ".parquet": "parquet"}
OTHERS = ", ".join([*READERS][1:])


class DataSource(NamedTuple):
    """The place of data sets: below ``folder``, or on the hub if it is None. ``field`` names the setting in errors."""

    folder: Path | None
    field: str = "data"

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str] | None, field: str = "data") -> "DataSource":
        """Return the source that a user names. Raises InputError if there is no such folder."""
        if folder is not None and not os.path.isdir(folder):  # False for invalid names
            raise InputError(f"{field}={folder}: must be a folder of data sets, OWNER/NAME each, or null for the hub")
        return cls(None if folder is None else Path(folder), field)

    def make_error(self, what: str, place: str, reason: str = "") -> InputError:
        """Return the error for something missing, which has its ``place`` below the folder."""
        if self.folder is None:
            why = f"cannot be had ({reason})" if reason else "cannot be had"
            return InputError(
                f"{self.field}=null: {what} {why}; without a network give {self.field}=FOLDER and put it into "
                f"FOLDER/{place}"
            )
        return InputError(f"{self.field}={self.folder}: lacks {what}; put it into {self.folder / place}")


@contextmanager
def data_from(source: DataSource) -> Generator[None]:
    """Let ``datasets.load_dataset`` read from the source while the block runs, with one-line errors for missing data.

    A data set OWNER/NAME of the hub is the folder OWNER/NAME: either a copy of the hub's, whose README.md names its
    files, or a folder for each config with a file for each split, such as ``qasper_e/test.jsonl``. No code of it is
    run. Data is read by way of a temporary folder.

    Raises:
        InputError: When a data set is loaded: the hub cannot be reached, or the data set is not in the folder or not
            readable.
    """
    import datasets  # pyright: ignore[reportMissingImports]

    original = datasets.load_dataset
    with TemporaryDirectory() as kept:

        def load(path: str, name: str | None = None, split: str | None = None, **options: Any) -> Any:
            if options.get("data_files") is not None:
                return original(path, name=name, split=split, **options)
            if source.folder is None:
                return _load_from_hub(original, source, path, name, split, options)
            return _load_from_folder(original, source, source.folder / path, path, name, split, kept)

        datasets.load_dataset = load
        try:
            yield
        finally:
            datasets.load_dataset = original


def _place(path: str, name: str | None, split: str | None) -> str:
    """Return where below the folder a data set is expected, for messages."""
    file = "/".join(part for part in (path, name, split or "test") if part)
    return f"{file}.jsonl (named by the split; or {OTHERS})"


def _load_from_hub(
    original: Callable[..., Any], source: DataSource, path: str, name: str | None, split: str | None, options: Any
) -> Any:
    try:
        return original(path, name=name, split=split, **options)
    except Exception as error:
        what = f"{path} of Hugging Face's hub"
        raise source.make_error(what, _place(path, name, split), format_error(error)) from None


def _load_from_folder(
    original: Callable[..., Any],
    source: DataSource,
    place: Path,
    path: str,
    name: str | None,
    split: str | None,
    kept: str,
) -> Any:
    files = sorted(file for file in (place / (name or "")).glob("*.*") if file.suffix in READERS)
    splits: dict[str, list[str]] = {}
    for file in files:  # test-00000-of-00002.parquet belongs to the split test
        splits.setdefault(file.stem.split("-")[0], []).append(str(file))
    try:
        if splits and (split is None or split.split("[")[0] in splits):
            reader = READERS[files[0].suffix]
            return original(reader, data_files=splits, split=split, cache_dir=kept)
        if (place / "README.md").is_file():
            return original(str(place), name=name, split=split, cache_dir=kept)
    except Exception as error:
        given = f"{source.field}={source.folder}"
        raise InputError(f"{given}: {path}, config {name}: cannot be read: {format_error(error)}") from None
    raise source.make_error(f"the data set {path} of Hugging Face's hub", _place(path, name, split))
