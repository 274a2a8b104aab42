"""What a store needs of the place where its files lie: a few operations, under paths below its root such as
``runs/0123456789abcdef/status.json``. Something is there whole or not at all, and of many who create the same file one
succeeds.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping


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
        """Return the content of a regular file. Raises FileNotFoundError or ``safe_reading.NotRegular``."""

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


def reason_of(error: Exception) -> str:
    """What the system says of an error, in a few words."""
    return getattr(error, "strerror", None) or " ".join(str(error).split())
