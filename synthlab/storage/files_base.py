"""The interface of the place where a store's files are.

It has a few operations on paths below its root, such as ``runs/0123456789abcdef/status.json``. Writes are atomic. If
several processes create the same file, exactly one succeeds.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping


class Files(ABC):
    """Files below a root. A file that cannot be read or written raises OSError."""

    is_shared = True  # whether other processes see these files

    @abstractmethod
    def exists(self) -> bool:
        """Return True if the root exists."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """Return the names directly in ``folder``, sorted; none if it does not exist."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """Return the content of a regular file. Raises FileNotFoundError or ``safe_reading.NotRegular``."""

    @abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Write a file atomically: a failure leaves the old content."""

    @abstractmethod
    def create(self, path: str, data: bytes) -> bool:
        """Write a file that must not exist yet; return False if it does. ``data`` must be unique to its writer."""

    @abstractmethod
    def write_group(self, folder: str, files: Mapping[str, bytes]) -> None:
        """Write a folder of files atomically: it is complete or absent. An existing folder is left unchanged.

        The presence of the last of ``files`` marks the folder as complete.
        """

    @abstractmethod
    def holds_group(self, folder: str, last: str) -> bool:
        """Return True if a folder of ``write_group`` exists."""

    @abstractmethod
    def groups(self, folder: str, last: str) -> list[str]:
        """Return the names of all such folders in ``folder``, sorted."""

    @abstractmethod
    def move(self, folder: str, to: str) -> None:
        """Move a folder with its content."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file, or a folder with its content, if it exists."""

    @abstractmethod
    def modified(self, path: str) -> float | None:
        """Return when a file was last written, in seconds by its file system's clock; None if it does not exist."""

    @abstractmethod
    def path(self, path: str) -> str:
        """Return the full path or address, for messages."""


def reason_of(error: Exception) -> str:
    """Return the system's reason for an error, in a few words."""
    return getattr(error, "strerror", None) or " ".join(str(error).split())
