"""Who trains what right now: a run is trained by whoever holds its lease, so that nobody trains it twice at once.

Any number of processes, on any number of machines, may work on one store. A lease is a file that only one of them can
create. Whoever holds some renews a file of its own every few seconds; one that no longer does (its machine is gone) or
whose process is seen to be gone (on this machine) has died. A dead holder's lease is not removed but followed by one
with the next number, which again only one can create: so the number also says how many holders of this run have died.
"""

import json
import os
import platform
import re
import secrets
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from synthlab.files import Files

RENEWED = 5  # seconds between a holder's signs of life
SILENT = 120  # seconds without one after which a holder counts as dead
FOLDER, SIGNS = "leases", "leases/holders"
_LEASE = re.compile(r"([0-9a-f]{16})\.(\d+)")
_AT_WORK: dict[str, tuple["Leases", "Held"]] = {}  # what this process holds now, by its sign of life


class Lease(NamedTuple):
    """The latest lease of a run: how many holders died before this one, and whether this one lives."""

    number: int
    alive: bool

    @property
    def deaths(self) -> int:
        """How many holders of this run have died."""
        return self.number + (not self.alive)


@dataclass(frozen=True)
class Holder:
    """A process that can hold leases."""

    machine: str
    pid: int
    started: str  # tells it from a later process of the same number
    parent: int
    token: str

    @classmethod
    def myself(cls) -> "Holder":
        """This process."""
        return cls(_machine(), os.getpid(), _started(os.getpid()), os.getppid(), secrets.token_hex(4))

    @property
    def name(self) -> str:
        """Unlike that of any other."""
        return f"{self.machine}-{self.pid}-{self.token}"

    def is_gone(self) -> bool:
        """Whether it is known to be gone; on other machines that cannot be seen."""
        return self.machine == _machine() and self.started != _started(self.pid)


class Held:
    """The leases that one process holds at a time: of which runs, and how much of their work is done (0 to 1)."""

    def __init__(self, identities: list[str]):
        self.identities, self.share = identities, 0.0

    def sign(self) -> bytes:
        """What the holder's sign of life says."""
        return json.dumps({"runs": self.identities, "share": self.share}).encode()


class Leases:
    """The leases of one store, as this process takes and sees them."""

    def __init__(self, files: Files):
        self.files = files

    @contextmanager
    def held(self, identities: Iterable[str]) -> Iterator[Held]:
        """Hold the leases of those of the runs that nobody else holds."""
        holder, held, stop = Holder.myself(), Held([]), threading.Event()
        sign = f"{SIGNS}/{holder.name}"
        self.files.write(sign, held.sign())
        renewal = threading.Thread(target=self._renew, args=(sign, held, stop), daemon=True)
        renewal.start()
        _AT_WORK[sign] = (self, held)
        try:
            wanted = list(identities)
            latest = self.latest(set(wanted))
            for identity in wanted:
                found = latest.get(identity)
                number = 0 if found is None else found.number + 1
                if (found is None or not found.alive) and self._take(identity, number, holder):
                    held.identities.append(identity)
            yield held
        finally:
            stop.set()
            renewal.join()
            self._let_go(sign, held.identities)

    def latest(self, identities: Collection[str] | None = None) -> dict[str, Lease]:
        """The latest lease of each of the runs (without ``identities``, of all) that has one, by identity."""
        numbers: dict[str, int] = {}
        for name in self.files.names(FOLDER):
            match = _LEASE.fullmatch(name)
            if match and (identities is None or match[1] in identities):
                numbers[match[1]] = max(numbers.get(match[1], 0), int(match[2]))
        alive: dict[str, bool] = {}  # a holder has many leases
        return {identity: Lease(number, self._lives(identity, number, alive)) for identity, number in numbers.items()}

    def share(self, identities: Collection[str]) -> float:
        """How much of the work on those of the runs that are in training is done, counted in runs."""
        done = 0.0
        for name in self.files.names(SIGNS):
            with suppress(OSError, ValueError, TypeError, KeyError):
                sign = json.loads(self.files.read(f"{SIGNS}/{name}"))
                done += sign["share"] * sum(identity in identities for identity in sign["runs"])
        return done

    def forgive(self, parent: int) -> None:
        """Remove what workers of ``parent``, a process of this machine, held when it was told to stop: they did not die
        of their runs."""
        for name in self.files.names(FOLDER):
            holder = self._holder(f"{FOLDER}/{name}") if _LEASE.fullmatch(name) else None
            if holder is not None and (holder.machine, holder.parent) == (_machine(), parent):
                self._remove(f"{FOLDER}/{name}")
                self._remove(f"{SIGNS}/{holder.name}")

    def tidy(self, recorded: Collection[str]) -> None:
        """Remove the leases of runs that are recorded: their holders were killed before they could."""
        for identity, lease in self.latest(recorded).items():
            if not lease.alive:
                for number in range(lease.number + 1):
                    self._remove(_name(identity, number))

    def _take(self, identity: str, number: int, holder: Holder) -> bool:
        return self.files.create(_name(identity, number), json.dumps(holder.__dict__).encode())

    def _lives(self, identity: str, number: int, alive: dict[str, bool]) -> bool:
        holder = self._holder(_name(identity, number))
        if holder is None:  # being written, or damaged
            return not self._is_silent(_name(identity, number))
        if holder.name not in alive:
            alive[holder.name] = not holder.is_gone() and not self._is_silent(f"{SIGNS}/{holder.name}")
        return alive[holder.name]

    def _holder(self, path: str) -> Holder | None:
        try:
            return Holder(**json.loads(self.files.read(path)))
        except (OSError, ValueError, TypeError):
            return None

    def _is_silent(self, path: str) -> bool:
        """Whether a file has not been written for long."""
        last = self.files.modified(path)
        if last is None:
            return True
        # By the clock of whoever keeps the files: those of two machines may differ.
        probe = f"{SIGNS}/.clock-{secrets.token_hex(4)}"
        self.files.write(probe, b"")
        now = self.files.modified(probe)
        self._remove(probe)
        return now is not None and now - last > SILENT

    def _renew(self, sign: str, held: Held, stop: threading.Event) -> None:
        while not stop.wait(RENEWED):
            with suppress(OSError):  # a full disk; what cannot be recorded will say so
                self.files.write(sign, held.sign())

    def _let_go(self, sign: str, identities: list[str]) -> None:
        found = filter(None, map(_LEASE.fullmatch, self.files.names(FOLDER)))
        # The latest goes last: who looks meanwhile sees a lease, or a record.
        for match in sorted(found, key=lambda match: int(match[2])):
            if match[1] in identities:
                self._remove(f"{FOLDER}/{match[0]}")
        self._remove(sign)
        _AT_WORK.pop(sign, None)

    def _remove(self, path: str) -> None:
        with suppress(OSError):
            self.files.remove(path)


def let_go() -> None:
    """Give up all that this process holds, as far as that can still be done: it is about to end."""
    for sign, (leases, held) in list(_AT_WORK.items()):
        leases._let_go(sign, held.identities)


def _name(identity: str, number: int) -> str:
    return f"{FOLDER}/{identity}.{number}"


@cache
def _machine() -> str:
    """This machine as long as it runs; containers that share a name are told apart."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8])
        parts.append(str(os.stat("/proc/self/ns/pid").st_ino))
    return re.sub(r"[^\w.]", "_", "-".join(parts))


def _started(pid: int) -> str:
    """When a process of this machine was started, in ticks since the machine was (where that can be seen); empty for
    one that is not there."""
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
