"""Where the harness's tasks have their data from: Hugging Face's hub, or a folder of the same names."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from synthlab.errors import InputError, in_one_line

READERS = {".jsonl": "json", ".json": "json", ".csv": "csv", ".parquet": "parquet"}
LAYOUT = f"CONFIG/SPLIT and one of {', '.join(READERS)}"


@contextmanager
def data_from(folder: str | os.PathLike[str] | None) -> Generator[None]:
    """While it is open, ``datasets.load_dataset`` reads data sets from ``folder``, or says in one line what lacks.

    A data set OWNER/NAME of the hub is the folder OWNER/NAME: either a copy of the hub's, whose README.md names its
    files, or a folder for each config with a file for each split, such as ``qasper_e/test.jsonl``. Nothing of it is
    run. What is read is kept in a temporary folder and removed.

    Args:
        folder: The folder; None for the hub.

    Raises:
        InputError: There is no such folder; or, as a data set is loaded, the hub cannot be reached, the data set is not
            in the folder or cannot be read.
    """
    import datasets  # pyright: ignore[reportMissingImports]

    if folder is not None and not Path(folder).is_dir():
        raise InputError(f"data={folder}: must be a folder of data sets, OWNER/NAME each, or null for the hub")
    original = datasets.load_dataset
    with TemporaryDirectory() as kept:

        def load(path: str, name: str | None = None, split: str | None = None, **options: Any) -> Any:
            if options.get("data_files") is not None:
                return original(path, name=name, split=split, **options)
            if folder is None:
                return _of_hub(original, path, name, split, options)
            return _of_folder(original, Path(folder), path, name, split, kept)

        datasets.load_dataset = load
        try:
            yield
        finally:
            datasets.load_dataset = original


def _of_hub(original: Callable[..., Any], path: str, name: str | None, split: str | None, options: Any) -> Any:
    try:
        return original(path, name=name, split=split, **options)
    except Exception as error:
        raise InputError(
            f"data=null: {path} of Hugging Face's hub cannot be had ({in_one_line(error)}); without a network give "
            f"data=FOLDER and put the data set into FOLDER/{path}, as {LAYOUT}, here CONFIG={name}"
        ) from None


def _of_folder(
    original: Callable[..., Any], folder: Path, path: str, name: str | None, split: str | None, kept: str
) -> Any:
    place = folder / path
    files = sorted(file for file in (place / (name or "")).glob("*.*") if file.suffix in READERS)
    try:
        if files:  # test-00000-of-00002.parquet is of the split test
            splits: dict[str, list[str]] = {}
            for file in files:
                splits.setdefault(file.stem.split("-")[0], []).append(str(file))
            reader = READERS[files[0].suffix]
            return original(reader, data_files=splits, split=split, cache_dir=kept)
        if (place / "README.md").is_file():
            return original(str(place), name=name, split=split, cache_dir=kept)
    except Exception as error:
        raise InputError(f"data={folder}: {path}, config {name}: cannot be read: {in_one_line(error)}") from None
    raise InputError(
        f"data={folder}: must have the data set {path} of Hugging Face's hub as a folder {place}, with {LAYOUT}, here "
        f"CONFIG={name}"
    )
