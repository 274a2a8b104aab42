"""Leases: which process trains which run, so that several sweeps on one folder share the work.

A lease is a file ``leases/ID`` that only one process can create. It names its process, and is written again while that
process trains. It is dead once its process has ended (on this machine) or has been silent for long (on another one);
then another process may take its place. In an object store there are no leases.
"""

import os
import platform
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from synthlab.storage.files import Folder

LEASE_SECONDS = 600  # seconds after which a process of another machine counts as ended


class Lease(NamedTuple):
    """A lease: whether its process lives, and the share of the training that is done (0 to 1)."""

    alive: bool
    share: float


class Leases:
    """The leases of the store in ``files``."""

    def __init__(self, files: Folder):
        self.files, self.folder = files, files.local and files.local / "leases"

    @contextmanager
    def hold(self, identities: Iterable[str]) -> Iterator[list[str]]:
        """Lease those of the runs that no living process has leased, while the block runs; yield them.

        Raises StoreError if the folder cannot be written.
        """
        if self.folder is None:
            yield list(identities)
            return
        mine: list[str] = []
        try:
            with self.files.errors("written"):
                self.folder.mkdir(parents=True, exist_ok=True)
                mine += (identity for identity in identities if _take(self.folder / identity))
            yield mine
        finally:
            for identity in mine:
                with suppress(OSError):
                    (self.folder / identity).unlink()

    def renew(self, identities: Iterable[str], share: float) -> None:
        """Say that this process is still at its runs, and how far."""
        for path in (self.folder / identity for identity in identities if self.folder):
            with suppress(OSError):  # such as a full disk; saving the record will raise
                path.write_text(_sign(share))

    def find(self, identities: Collection[str]) -> dict[str, Lease]:
        """Return the leases on the given runs."""
        if self.folder is None or not self.folder.exists():
            return {}
        read = {name: _read(self.folder / name) for name in os.listdir(self.folder) if name in identities}
        return {name: lease for name, lease in read.items() if lease is not None}


def _take(path: Path) -> bool:
    lease = _read(path)
    if lease is not None and lease.alive:
        return False
    if lease is not None:  # two processes that do so at once may both train the run, which loses nothing
        path.unlink(missing_ok=True)
    try:
        with open(path, "x") as file:
            file.write(_sign(0))
    except FileExistsError:
        return False
    except OSError:  # a full disk
        path.unlink(missing_ok=True)
        raise
    return True


def _sign(share: float) -> str:
    return f"{platform.node()} {os.getpid()} {_read_start(os.getpid())} {share:.3f}\n"


def _read(path: Path) -> Lease | None:
    """Return a lease; None if there is none."""
    try:
        text, written = path.read_text(errors="replace"), path.stat().st_mtime
    except OSError:
        return None
    try:
        machine, pid, start, share = text.split()
        if machine == platform.node():
            return Lease(start == _read_start(int(pid)), float(share))
    except ValueError:  # it is being written
        share = 0
    return Lease(time.time() - written < LEASE_SECONDS, float(share))


def _read_start(pid: int) -> str:
    """Return when a process was started, in clock ticks since boot where the system tells it; "gone" without one."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "gone" if fields[0] in "ZX" else fields[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "gone"
    except OSError:  # of another user
        pass
    return "alive"
