"""The places where a store's files can be: a folder, local or shared, or an object store."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from synthlab.config.registry import show
from synthlab.errors import InputError, StoreError
from synthlab.storage.files_base import Files, reason_of
from synthlab.storage.objects import Objects
from synthlab.storage.safe_reading import check_regular


def files_at(root: Any) -> "Files":
    """Return the files below ``root``: a path, or the address of an object store such as ``s3://bucket/results``.

    Raises InputError for anything else, without network access, and for a path that cannot exist.
    """
    if not isinstance(root, str | os.PathLike) or not str(root):
        raise InputError(f"results={show(root)}: must be the path of a folder")
    if "://" in str(root):
        return Objects(str(root))
    try:
        os.stat(root)
    except (FileNotFoundError, NotADirectoryError):
        pass  # it can be created, or creating it raises
    except (OSError, ValueError) as error:  # links in a loop, a name that is too long, a null character
        raise InputError(f"results={root}: cannot be read ({reason_of(error)}); give a folder") from None
    return Folder(root)


def write_whole(path: Path, text: str) -> None:
    """Write ``path`` atomically, by way of a temporary file: a failure leaves the old content."""
    Folder(path.parent).write(path.name, text.encode())


class Folder(Files):
    """Files of a folder. Folders are renamed when they are complete, which also works on shared file systems."""

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
        check_regular(self.root / path)
        return (self.root / path).read_bytes()

    def write(self, path, data):
        whole = self._make_parent(path)
        partial = whole.with_name(f".partial-{whole.name}-{secrets.token_hex(4)}")
        try:
            _write_through(partial, data)
            partial.replace(whole)
        finally:
            partial.unlink(missing_ok=True)

    def create(self, path, data):
        whole = self._make_parent(path)
        partial = whole.with_name(f".partial-{whole.name}-{secrets.token_hex(4)}")
        try:
            partial.write_bytes(data)
            try:
                os.link(partial, whole)  # fails if the file exists; existing files are complete
            except FileExistsError:
                return False
            except OSError:  # this file system has no links
                return _create_exclusively(whole, data)
        finally:
            partial.unlink(missing_ok=True)
        return True

    def write_group(self, folder, files):
        whole = self._make_parent(folder)
        partial = whole.with_name(f".partial-{whole.name}-{secrets.token_hex(4)}")
        try:
            partial.mkdir()
            for name, data in files.items():
                _write_through(partial / name, data)
            partial.rename(whole)
        except OSError:  # another process may have created it in the meantime
            if not whole.is_dir():
                raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)  # also frees the space on a full disk

    def holds_group(self, folder, last):
        return (self.root / folder).exists()

    def groups(self, folder, last):
        return [name for name in self.names(folder) if not name.startswith(".partial-")]

    def move(self, folder, to):
        (self.root / folder).rename(self._make_parent(to))

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

    def _make_parent(self, path: str) -> Path:
        whole = self.root / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        return whole


def _write_through(path: Path, data: bytes) -> None:
    """Write a file and flush it to disk: otherwise a rename may reach the disk before the content."""
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
