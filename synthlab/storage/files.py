"""Files below a folder or in an object store, through fsspec. Each is written whole or not at all."""

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import fsspec

from synthlab.errors import InputError, StoreError, format_error
from synthlab.runs.registry import show

DIGITS = 16  # of a checksum


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


def checksum(data: bytes) -> str:
    """Return the beginning of the SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()[:DIGITS]


def reason_of(error: Exception) -> str:
    """Return the system's reason for an error, in a few words."""
    return getattr(error, "strerror", None) or " ".join(str(error).split()) or format_error(error)


class Folder:
    """The files below ``root``: a path, or the address of an object store such as ``s3://bucket/results``.

    ``local`` is the path of a folder, None for an object store. Methods raise StoreError, or FileNotFoundError.

    Raises InputError for anything else, without network access.
    """

    def __init__(self, root: str | os.PathLike[str]):
        if not isinstance(root, str | os.PathLike) or not str(root):
            raise InputError(f"results={show(root)}: must be the path of a folder")
        self.address = str(root).rstrip("/") or "/"
        kind, is_address, place = str(root).partition("://")
        is_local = not is_address or kind in ("file", "local")
        self.local = Path(place if is_address else root) if is_local else None
        try:
            if self.local is not None:
                self._system, self._root = fsspec.filesystem("file"), str(self.local)
            else:
                self._system, self._root = fsspec.core.url_to_fs(self.address)
        except Exception as error:  # a kind of address that fsspec does not know, or whose package is missing
            raise InputError(f"results={root}: cannot be reached ({reason_of(error)}); give a folder") from None

    def path(self, path: str = "") -> str:
        """Return the full path or address, for messages."""
        return f"{self.address}/{path}".rstrip("/") if path else self.address

    @contextmanager
    def errors(self, failed: str) -> Iterator[None]:
        """Raise any error as StoreError in one line: the folder cannot be ``failed``; FileNotFoundError stays."""
        try:
            yield
        except Exception as error:
            if isinstance(error, FileNotFoundError) and failed == "read":
                raise
            raise StoreError(f"results={self.address}: cannot be {failed} ({reason_of(error)})") from None

    def names(self, folder: str) -> list[str]:
        """Return the names directly in ``folder``, sorted; none if it does not exist."""
        with suppress(FileNotFoundError), self.errors("read"), suppress(NotADirectoryError):
            self._system.invalidate_cache()
            found = self._system.ls(f"{self._root}/{folder}", detail=False)
            return sorted(path.rstrip("/").rpartition("/")[2] for path in found)
        return []

    def exists(self, path: str) -> bool:
        """Return True if there is such a file."""
        with self.errors("read"):
            return self._system.exists(f"{self._root}/{path}")

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""
        with self.errors("read"):
            return self._system.open(f"{self._root}/{path}", "rb")

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        with self.errors("read"):
            return self._system.cat_file(f"{self._root}/{path}")

    def fetch(self, path: str) -> str:
        """Return the path of a file on this machine; one of an object store is downloaded once in a process."""
        with self.errors("read"):
            if self.local is not None:
                return str(self.local / path)
            return fsspec.open_local(f"simplecache::{self.path(path)}")

    def write(self, path: str, data: bytes) -> None:
        """Write a file whole."""
        with self.errors("written"):
            if self.local is not None:
                write_whole(self.local / path, data)
            else:
                self._system.pipe_file(f"{self._root}/{path}", data)

    def remove(self, path: str) -> None:
        """Remove a file if it exists."""
        with self.errors("written"), suppress(FileNotFoundError):
            self._system.rm_file(f"{self._root}/{path}")
