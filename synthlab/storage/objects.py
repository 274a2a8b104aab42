"""Files in an object store, accessed by fsspec."""

from contextlib import suppress
from typing import Any

from synthlab.errors import InputError, format_error
from synthlab.storage.files_base import Files, reason_of
from synthlab.storage.safe_reading import check_regular

# The fsspec file systems that can hold records: object stores and, for trying that out, local files and memory.
ADDRESSES = ("s3", "gs", "gcs", "az", "abfs", "file", "local", "memory")


class _Told:
    """A file system of fsspec whose errors are OSErrors, whichever library raises them."""

    def __init__(self, system: Any):
        self._system = system

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._system, name)

        def translate_errors(*arguments: Any, **settings: Any) -> Any:
            try:
                return call(*arguments, **settings)
            except OSError:
                raise
            except Exception as error:
                raise OSError(format_error(error)) from error

        return translate_errors


class Objects(Files):
    """Files of an object store, by its address as fsspec takes it.

    There is no renaming: a folder is complete once its last file exists, and that file is written last.
    """

    def __init__(self, address: str):
        kind, _, place = address.partition("://")
        if kind not in ADDRESSES or not place.strip("/") or "::" in place:
            *kinds, last = (f"{kind}://" for kind in ADDRESSES)
            raise InputError(f"results={address}: must be a folder, or a place after {', '.join(kinds)} or {last}")
        import fsspec

        self.is_local = kind in ("file", "local")
        how = {"auto_mkdir": True} if self.is_local else {}  # an object store has no folders to create
        try:
            system, self.root = fsspec.core.url_to_fs(address, **how)
        except Exception as error:  # a package or credentials are missing
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
        if self.is_local:
            check_regular(f"{self.root}/{path}")
        return self.system.cat_file(f"{self.root}/{path}")

    def write(self, path, data):
        self.system.pipe_file(f"{self.root}/{path}", data)

    def create(self, path, data):
        try:
            self.system.pipe_file(f"{self.root}/{path}", data, mode="create")
        except OSError as error:
            # If the answer to an attempt is lost, the next attempt finds the file of the first. Not every store's
            # refusal arrives as FileExistsError.
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
