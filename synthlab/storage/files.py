"""Files below a folder or in an object store, through fsspec. Each is written whole or not at all."""

import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from synthlab.config.registry import show
from synthlab.errors import InputError, format_error

# The file systems of fsspec that can hold records: object stores and, to try that out, local files and memory.
ADDRESSES = ("s3", "gs", "gcs", "az", "abfs", "file", "local", "memory")
DEEPEST = 100  # levels of JSON: more could exceed the recursion limit


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file under another name, flush it to the disk and rename it: a failure leaves the old content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".partial-{path.name}-{secrets.token_hex(4)}")
    try:
        with open(partial, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)  # this also frees the space on a full disk


def reason_of(error: Exception) -> str:
    """Return the system's reason for an error, in a few words."""
    return getattr(error, "strerror", None) or " ".join(str(error).split())


def parse_json(data: bytes | str) -> Any:
    """Return parsed JSON. Raises ValueError if it is invalid, or nested more than ``DEEPEST`` deep."""
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError(f"JSON is nested more than {DEEPEST} deep") from None
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for part in level for inner in _inner(part)]
        if not level:
            return value
    raise ValueError(f"JSON is nested more than {DEEPEST} deep")


def _inner(part: Any) -> list[Any]:
    if isinstance(part, dict):
        return list(cast(dict[str, Any], part).values())
    return cast(list[Any], part) if isinstance(part, list) else []


@contextmanager
def _system_errors() -> Iterator[None]:
    """Raise the error of any library as an OSError."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(format_error(error)) from error


def _open_local() -> Any:
    from fsspec.implementations.local import LocalFileSystem

    return LocalFileSystem()


class Folder:
    """The files below ``root``: a path, or the address of an object store such as ``s3://bucket/results``.

    ``local`` is the path of a folder, None for an object store. Methods raise OSError.

    Raises InputError for anything else, without network access, and for a path that cannot exist.
    """

    def __init__(self, root: str | os.PathLike[str]):
        if not isinstance(root, str | os.PathLike) or not str(root):
            raise InputError(f"results={show(root)}: must be the path of a folder")
        self.address = str(root).rstrip("/") or "/"
        kind, is_address, place = str(root).partition("://")
        if is_address and (kind not in ADDRESSES or not place.strip("/") or "::" in place):
            *kinds, last = (f"{kind}://" for kind in ADDRESSES)
            raise InputError(f"results={root}: must be a folder, or a place after {', '.join(kinds)} or {last}")
        self.is_shared = kind != "memory" or not is_address  # whether other processes see these files
        is_local = not is_address or kind in ("file", "local")
        self.local = Path(place if is_address else root) if is_local else None
        try:
            if self.local is None:
                import fsspec

                self._system, self._root = fsspec.core.url_to_fs(self.address)
            else:
                self._system, self._root = _open_local(), os.path.abspath(self.local)
                with suppress(FileNotFoundError, NotADirectoryError):  # it can be created, or creating it raises
                    os.stat(self.local)
        except Exception as error:  # a package or credentials are missing, links in a loop, a name that is too long
            what = "reached" if self.local is None else "read"
            raise InputError(f"results={root}: cannot be {what} ({reason_of(error)}); give a folder") from None

    def path(self, path: str = "") -> str:
        """Return the full path or address, for messages."""
        return f"{self.address}/{path}".rstrip("/") if path else self.address

    def exists(self) -> bool:
        """Return True if the folder exists."""
        with _system_errors():
            return self._system.exists(self._root)

    def names(self, folder: str) -> list[str]:
        """Return the names directly in ``folder``, sorted; none if it does not exist."""
        if self.local is not None:
            with suppress(FileNotFoundError, NotADirectoryError):
                return sorted(os.listdir(self.local / folder))
            return []
        with suppress(FileNotFoundError), _system_errors():
            self._system.invalidate_cache()
            found = self._system.ls(f"{self._root}/{folder}", detail=False)
            return sorted(path.rstrip("/").rpartition("/")[2] for path in found)
        return []

    def open(self, path: str) -> BinaryIO:
        """Open a regular file for reading. Opening a pipe would block."""
        if self.local is not None and not stat.S_ISREG(os.stat(self.local / path).st_mode):
            raise OSError(f"{self.path(path)}: is no regular file")
        with _system_errors():
            return self._system.open(f"{self._root}/{path}", "rb")

    def read(self, path: str) -> bytes:
        """Return the content of a regular file."""
        with self.open(path) as file, _system_errors():
            return file.read()

    def write(self, path: str, data: bytes) -> None:
        """Write a file whole."""
        if self.local is not None:
            write_whole(self.local / path, data)
        else:
            with _system_errors():
                self._system.pipe_file(f"{self._root}/{path}", data)

    def move(self, path: str, to: str) -> None:
        """Rename a file."""
        if self.local is not None:
            (self.local / to).parent.mkdir(parents=True, exist_ok=True)
            (self.local / path).rename(self.local / to)
        else:
            with _system_errors():
                self._system.mv(f"{self._root}/{path}", f"{self._root}/{to}")

    def remove(self, path: str) -> None:
        """Remove a file if it exists."""
        with suppress(FileNotFoundError), _system_errors():
            self._system.rm_file(f"{self._root}/{path}")
