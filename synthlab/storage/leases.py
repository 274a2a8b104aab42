"""Leases: only the process that holds a run's lease trains it, so that no run is trained twice at once.

Any number of processes, on any number of machines, may work on one store. A lease is a file that only one process can
create. A holder renews its heartbeat, one file, every few seconds. It counts as dead without a heartbeat (its machine
is gone), or once its process no longer exists (on this machine). The lease of a dead holder is not removed: the next
holder creates one with the next number, which again only one process can create.
"""

import json
import os
import platform
import re
import secrets
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from synthlab.storage.files import Files, listing
from synthlab.storage.safe_reading import parse_json

RENEWED = 5  # seconds between heartbeats
SILENT = 120  # seconds without a heartbeat after which a holder counts as dead
FOLDER, HEARTBEATS = "leases", "leases/holders"
_LEASE = re.compile(r"([0-9a-f]{16})\.(\d+)")
_AT_WORK: dict[str, tuple["Leases", "Held"]] = {}  # the leases that this process holds now, by its heartbeat


class Lease(NamedTuple):
    """The latest lease of a run: its number, and whether its holder is alive."""

    number: int
    alive: bool


@dataclass(frozen=True)
class Holder:
    """A process that can hold leases."""

    machine: str
    pid: int
    started: str  # start time, to distinguish it from a later process with the same id
    parent: int
    token: str

    @classmethod
    def myself(cls) -> "Holder":
        """Return the present process."""
        return cls(_machine(), os.getpid(), _read_start(os.getpid()), os.getppid(), secrets.token_hex(4))

    @property
    def name(self) -> str:
        """A unique name."""
        return f"{self.machine}-{self.pid}-{self.token}"

    def is_gone(self) -> bool:
        """Return True if the process is known to have ended; always False for one of another machine."""
        return self.machine == _machine() and self.started != _read_start(self.pid)


class Held:
    """The leases that one process holds: their numbers by run, and the share of the work that is done (0 to 1)."""

    def __init__(self, holder: Holder):
        self.holder, self.share = holder, 0.0
        self.numbers: dict[str, int] = {}

    def sign(self) -> bytes:
        """Return the content of the holder's heartbeat."""
        about = {"holder": self.holder.__dict__, "runs": list(self.numbers), "share": self.share}
        return json.dumps(about).encode()


class Leases:
    """The leases of one store, as seen and taken by this process."""

    def __init__(self, files: Files):
        self.files = files

    @contextmanager
    def hold(self, identities: Iterable[str]) -> Iterator[Held]:
        """Hold the leases of those runs that nobody else holds, while the block runs."""
        holder, stop = Holder.myself(), threading.Event()
        held = Held(holder)
        sign = f"{HEARTBEATS}/{holder.name}"
        self.files.write(sign, held.sign())
        renewal = threading.Thread(target=self._renew, args=(sign, held, stop), daemon=True)
        renewal.start()
        _AT_WORK[sign] = (self, held)
        try:
            wanted = list(identities)
            latest = self.find_latest(set(wanted))
            for identity in wanted:
                found = latest.get(identity)
                number = 0 if found is None else found.number + 1
                if (found is None or not found.alive) and self._take(identity, number, holder):
                    held.numbers[identity] = number
            yield held
        finally:
            stop.set()
            renewal.join()
            self._release(sign, held.numbers)

    def find_latest(self, identities: Collection[str] | None = None) -> dict[str, Lease]:
        """Return the latest lease of each run that has one, by identity; of all runs if ``identities`` is None."""
        numbers: dict[str, int] = {}
        with listing(self.files):
            names = self.files.names(FOLDER)
        for name in names:
            match = _LEASE.fullmatch(name)
            if match and (identities is None or match[1] in identities):
                numbers[match[1]] = max(numbers.get(match[1], 0), int(match[2]))
        alive: dict[str, bool] = {}  # a cache, since a holder has many leases
        return {identity: self._lease(identity, number, alive) for identity, number in numbers.items()}

    def share(self, identities: Collection[str]) -> float:
        """Return the sum of progress fractions over the given runs that are training now."""
        done: dict[str, float] = {}
        for name in self.files.names(HEARTBEATS):
            with suppress(OSError, ValueError, TypeError, KeyError):
                sign: dict[str, Any] = parse_json(self.files.read(f"{HEARTBEATS}/{name}"))
                holder = Holder(**sign["holder"])
                if _is_sound(holder) and self._is_alive(holder):
                    done |= {identity: float(sign["share"]) for identity in set(identities) & set(sign["runs"])}
        return float(sum(done.values()))

    def release(self, parent: int) -> None:
        """Remove the leases of workers of ``parent``, a process of this machine, after it has stopped them."""
        for name in filter(_LEASE.fullmatch, self.files.names(FOLDER)):
            holder = self._read(f"{FOLDER}/{name}")
            if holder is not None and (holder.machine, holder.parent) == (_machine(), parent):
                self._remove(f"{FOLDER}/{name}")
                self._remove(f"{HEARTBEATS}/{holder.name}")

    def tidy(self, over: Collection[str]) -> None:
        """Remove dead leases of runs that are recorded or given up, and heartbeats of dead holders."""
        for identity, lease in self.find_latest(over).items():
            if not lease.alive:
                for number in range(lease.number + 1):
                    self._remove(_name(identity, number))
        with suppress(OSError):
            for name in self.files.names(HEARTBEATS):
                if self._is_silent(f"{HEARTBEATS}/{name}"):
                    self._remove(f"{HEARTBEATS}/{name}")

    def _take(self, identity: str, number: int, holder: Holder) -> bool:
        return self.files.create(_name(identity, number), json.dumps({"holder": holder.__dict__}).encode())

    def _lease(self, identity: str, number: int, alive: dict[str, bool]) -> Lease:
        holder = self._read(_name(identity, number))
        if holder is None:  # being written, or damaged
            return Lease(number, not self._is_silent(_name(identity, number)))
        if holder.name not in alive:
            alive[holder.name] = self._is_alive(holder)
        return Lease(number, alive[holder.name])

    def _is_alive(self, holder: Holder) -> bool:
        # Local: check the process itself, because a suspended machine stops the heartbeat.
        if holder.machine == _machine():
            return not holder.is_gone()
        return not self._is_silent(f"{HEARTBEATS}/{holder.name}")

    def _read(self, path: str) -> Holder | None:
        try:
            holder = Holder(**parse_json(self.files.read(path))["holder"])
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return holder if _is_sound(holder) else None

    def _is_silent(self, path: str) -> bool:
        """Return True if a file has not been written for ``SILENT`` seconds."""
        last = self.files.modified(path)
        if last is None:
            return True
        # By the clock of the file system: clocks of two machines may differ.
        probe = f"{HEARTBEATS}/.clock-{secrets.token_hex(4)}"
        self.files.write(probe, b"")
        now = self.files.modified(probe)
        self._remove(probe)
        return now is not None and now - last > SILENT

    def _renew(self, sign: str, held: Held, stop: threading.Event) -> None:
        while not stop.wait(RENEWED):
            with suppress(OSError):  # ignore e.g. a full disk; saving the record will raise
                self.files.write(sign, held.sign())

    def _release(self, sign: str, numbers: Mapping[str, int]) -> None:
        # Remove the latest last, so that others always see a lease or a record.
        for identity, number in numbers.items():
            for older in range(number + 1):
                self._remove(_name(identity, older))
        self._remove(sign)
        _AT_WORK.pop(sign, None)

    def _remove(self, path: str) -> None:
        with suppress(OSError):
            self.files.remove(path)


def release_all() -> None:
    """Release every lease of this process, which is about to end, as far as that is still possible."""
    for sign, (leases, held) in list(_AT_WORK.items()):
        leases._release(sign, held.numbers)


def _is_sound(holder: Holder) -> bool:
    """Return True if the content of a holder's file can only lead to its own heartbeat."""
    return type(holder.pid) is int and re.fullmatch(r"[\w.-]+", holder.name) is not None


def _name(identity: str, number: int) -> str:
    return f"{FOLDER}/{identity}.{number}"


@cache
def _machine() -> str:
    """Return a name of this machine, unique until it restarts. It differs between containers of one host name."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8])
        parts.append(str(os.stat("/proc/self/ns/pid").st_ino))
    return re.sub(r"[^\w.]", "_", "-".join(parts))


def _read_start(pid: int) -> str:
    """Return when a process of this machine was started, in clock ticks since boot where the system tells it.

    Return an empty string for a process that does not exist.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except OSError:
        pass
    if Path("/proc/self/stat").exists():
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        pass
    return "alive"
