"""Where a store's files lie: a folder, of this machine or shared by many, or an object store.

Both do the few things that a store needs, under paths below their root such as ``runs/0123456789abcdef/status.json``:
something is there whole or not at all, and of many who create the same file one succeeds.
"""

import os
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from synthlab.config.registry import shown
from synthlab.errors import InputError, StoreError, in_one_line

# Of fsspec's file systems those of object stores, in which a store's records can lie; and, to try that out, this
# machine's files and this process's memory.
ADDRESSES = ("s3", "gs", "gcs", "az", "abfs", "file", "local", "memory")


def files_at(root: Any) -> "Files":
    """The files below ``root``: a path, or the address of an object store such as ``s3://bucket/results``.

    Raises InputError for what is neither, without asking a network, and for a path that can lead nowhere.
    """
    if not isinstance(root, str | os.PathLike) or not str(root):
        raise InputError(f"results={shown(root)}: must be the path of a folder")
    if "://" in str(root):
        return Objects(str(root))
    try:
        os.stat(root)
    except (FileNotFoundError, NotADirectoryError):
        pass  # it can be made, or will be refused when it is
    except (OSError, ValueError) as error:  # links in a loop, a name that is too long, a null character
        raise InputError(f"results={root}: cannot be read ({reason_of(error)}); give a folder") from None
    return Folder(root)


def reason_of(error: Exception) -> str:
    """What the system says of an error, in a few words."""
    return getattr(error, "strerror", None) or " ".join(str(error).split())


def write_whole(path: Path, text: str) -> None:
    """Write ``path`` under another name first, so that it is there whole or as it was."""
    Folder(path.parent).write(path.name, text.encode())


class Files(ABC):
    """Files below a root. What cannot be read or written raises OSError."""

    is_shared = True  # whether other processes see them too

    @abstractmethod
    def exists(self) -> bool:
        """Whether the root is there."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """What lies directly in ``folder``, in order of name; nothing where there is no such folder."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """The content of a file; raises FileNotFoundError."""

    @abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Write a file, so that it is there whole or as it was."""

    @abstractmethod
    def create(self, path: str, data: bytes) -> bool:
        """Write a file that must not be there yet; False if it is. ``data`` names its writer: no other has the same."""

    @abstractmethod
    def write_group(self, folder: str, files: Mapping[str, bytes]) -> None:
        """Write a folder of files, so that it is complete or not there. One that is already there stays as it is. The
        last of ``files`` stands for its completeness."""

    @abstractmethod
    def holds_group(self, folder: str, last: str) -> bool:
        """Whether a folder of ``write_group`` is there."""

    @abstractmethod
    def groups(self, folder: str, last: str) -> list[str]:
        """The names of all of them in ``folder``, in order."""

    @abstractmethod
    def move(self, folder: str, to: str) -> None:
        """Move a folder with all that is in it."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it; no matter if it is not there."""

    @abstractmethod
    def modified(self, path: str) -> float | None:
        """When a file was last written, in seconds by the clock of whoever keeps it; None if it is not there."""

    @abstractmethod
    def path(self, path: str) -> str:
        """The whole path or address, for people."""


class Folder(Files):
    """Files of a folder. Folders are renamed when they are complete, which also holds on shared file systems."""

    def __init__(self, root: str | os.PathLike[str]):
        self.root = Path(root)

    def exists(self):
        return self.root.is_dir()

    def names(self, folder):
        try:
            return sorted(os.listdir(self.root / folder))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def read(self, path):
        return (self.root / path).read_bytes()

    def write(self, path, data):
        whole = self._made(path)
        partial = whole.with_name(f".partial-{whole.name}-{secrets.token_hex(4)}")
        try:
            _write_through(partial, data)
            partial.replace(whole)
        finally:
            partial.unlink(missing_ok=True)

    def create(self, path, data):
        whole = self._made(path)
        partial = whole.with_name(f".partial-{whole.name}-{secrets.token_hex(4)}")
        try:
            partial.write_bytes(data)
            try:
                os.link(partial, whole)  # fails where there is one, and what is there is whole
            except FileExistsError:
                return False
            except OSError:  # no links on this file system
                return _create_exclusively(whole, data)
        finally:
            partial.unlink(missing_ok=True)
        return True

    def write_group(self, folder, files):
        whole = self._made(folder)
        partial = whole.with_name(f".partial-{whole.name}-{secrets.token_hex(4)}")
        try:
            partial.mkdir()
            for name, data in files.items():
                _write_through(partial / name, data)
            partial.rename(whole)
        except OSError:  # another process may have made the same in the meantime
            if not whole.is_dir():
                raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)  # also gives back the room on a disk that is full

    def holds_group(self, folder, last):
        return (self.root / folder).exists()

    def groups(self, folder, last):
        return [name for name in self.names(folder) if not name.startswith(".partial-")]

    def move(self, folder, to):
        (self.root / folder).rename(self._made(to))

    def remove(self, path):
        whole = self.root / path
        if whole.is_dir():
            shutil.rmtree(whole, ignore_errors=True)
        else:
            whole.unlink(missing_ok=True)

    def modified(self, path):
        with suppress(FileNotFoundError):
            return (self.root / path).stat().st_mtime
        return None

    def path(self, path):
        return str(self.root / path)

    def _made(self, path: str) -> Path:
        whole = self.root / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        return whole


def _write_through(path: Path, data: bytes) -> None:
    """Write a file, down to the disk: renaming it may get there earlier than what is in it."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _create_exclusively(whole: Path, data: bytes) -> bool:
    try:
        with open(whole, "xb") as file:
            file.write(data)
    except FileExistsError:
        return False
    return True


@contextmanager
def listing(files: Files) -> Iterator[None]:
    """Turn an OSError into one line that names the results folder."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"results={files.path('')}: cannot be read ({reason_of(error)})") from None


class _Told:
    """A file system of fsspec's, whose troubles are OSErrors, whichever library has them."""

    def __init__(self, system: Any):
        self._system = system

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._system, name)

        def told(*arguments: Any, **settings: Any) -> Any:
            try:
                return call(*arguments, **settings)
            except OSError:
                raise
            except Exception as error:
                raise OSError(in_one_line(error)) from error

        return told


class Objects(Files):
    """Files of an object store, by its address as fsspec takes it. There is no renaming: a folder is complete once its
    last file is there, which is written last."""

    def __init__(self, address: str):
        kind, _, place = address.partition("://")
        if kind not in ADDRESSES or not place.strip("/") or "::" in place:
            *kinds, last = (f"{kind}://" for kind in ADDRESSES)
            raise InputError(f"results={address}: must be a folder, or a place after {', '.join(kinds)} or {last}")
        import fsspec

        how = {"auto_mkdir": True} if kind in ("file", "local") else {}  # an object store has no folders to make
        try:
            system, self.root = fsspec.core.url_to_fs(address, **how)
        except Exception as error:  # the package is missing, or what it wants to know
            raise InputError(f"results={address}: cannot be reached ({reason_of(error)})") from None
        self.system, self.address, self.is_shared = _Told(system), address.rstrip("/"), kind != "memory"

    def __reduce__(self):
        return type(self), (self.address,)

    def exists(self):
        return self.system.exists(self.root)

    def names(self, folder):
        self.system.invalidate_cache()
        try:
            found = self.system.ls(f"{self.root}/{folder}", detail=False)
        except FileNotFoundError:
            return []
        return sorted(path.rstrip("/").rpartition("/")[2] for path in found)

    def read(self, path):
        return self.system.cat_file(f"{self.root}/{path}")

    def write(self, path, data):
        self.system.pipe_file(f"{self.root}/{path}", data)

    def create(self, path, data):
        try:
            self.system.pipe_file(f"{self.root}/{path}", data, mode="create")
        except OSError as error:
            # Where the answer to an attempt is lost, the next one meets the file of the first. And not every store's
            # refusal reaches us as FileExistsError.
            try:
                return self.read(path) == data
            except FileNotFoundError:
                if isinstance(error, FileExistsError):
                    return False  # removed in the meantime
                raise error from None
        return True

    def write_group(self, folder, files):
        if self.holds_group(folder, list(files)[-1]):
            return
        for name, data in files.items():
            self.write(f"{folder}/{name}", data)

    def holds_group(self, folder, last):
        self.system.invalidate_cache()
        return self.system.exists(f"{self.root}/{folder}/{last}")

    def groups(self, folder, last):
        self.system.invalidate_cache()
        try:
            found = self.system.find(f"{self.root}/{folder}")
        except FileNotFoundError:
            return []
        ends = (path.rpartition("/") for path in found)
        return sorted(whole.rpartition("/")[2] for whole, _, name in ends if name == last)

    def move(self, folder, to):
        for name in self.names(folder):
            self.write(f"{to}/{name}", self.read(f"{folder}/{name}"))
        self.remove(folder)

    def remove(self, path):
        with suppress(FileNotFoundError):
            self.system.rm(f"{self.root}/{path}", recursive=True)

    def modified(self, path):
        self.system.invalidate_cache()
        try:
            return self.system.modified(f"{self.root}/{path}").timestamp()
        except FileNotFoundError:
            return None

    def path(self, path):
        return f"{self.address}/{path}".rstrip("/")
