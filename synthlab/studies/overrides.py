"""What the command line asks of the runs of studies."""

from collections.abc import Iterable, Mapping
from typing import Any

from synthlab.config.base import BOOKKEEPING, Config
from synthlab.config.composition import Composed, compose
from synthlab.errors import InputError

NOT_RUNS = ("seeds", "first_seed", "replot")  # keys of the command's config, beside its studies, that are not its runs'


class Overrides:
    """The overrides ``given``, by key, on a command line whose config is ``raw`` and whose studies are of the config
    group ``group``. ``kind`` is of the runs that ``raw`` describes; studies may have runs of other kinds.

    Raises InputError for what no run takes account of.
    """

    def __init__(self, group: str, kind: type[Config], raw: Mapping[str, Any], given: Mapping[str, str]):
        if "seed" in given:
            raise InputError(f"{given['seed']}: the runs of a {group} have the seeds from first_seed on; give seeds=N")
        self.group, self.kind = group, kind
        self._raw = {key: value for key, value in raw.items() if key not in (group, *NOT_RUNS)}
        self._edits = {key: override for key, override in given.items() if key.startswith(f"{group}.")}
        not_runs = {group, *NOT_RUNS, *BOOKKEEPING}
        self.of_runs = {key: override for key, override in given.items() if key.split(".")[0] not in not_runs}
        for override in self.of_runs.values():
            if override.startswith("~") or "${" in override:
                raise InputError(f"{override}: the runs of a {group} take plain values; write key=value")
        self._bases: dict[type[Config], Composed] = {}

    def base(self, kind: type[Config]) -> Composed:
        """The config that grids of this kind of runs start from."""
        if kind not in self._bases:
            heeded = self._heeded(kind)
            config = self._raw if kind is self.kind else compose([*_default(kind), *heeded.values()])
            self._bases[kind] = Composed(config, heeded)
        return self._bases[kind]

    def text(self, study: str, kind: type[Config]) -> str:
        """In one line, all that makes ``study`` another than its file says: what its runs take account of, and edits of
        the study itself."""
        place = f"{self.group}.{study}"
        edits = [override for key, override in self._edits.items() if f"{key}.".startswith(f"{place}.")]
        return " ".join([*self._heeded(kind).values(), *edits])

    def check_all_heeded(self, kinds: Iterable[type[Config]]) -> None:
        """Raise InputError for an override that no run of these kinds takes account of."""
        heeded = {key for kind in kinds for key in self._heeded(kind)}
        for key, override in self.of_runs.items():
            if key not in heeded:
                raise InputError(f"{override}: no run of these has such a setting; leave it out")

    def _heeded(self, kind: type[Config]) -> dict[str, str]:
        """The overrides that are about a kind of runs. Those of ``self.kind`` are all; what others do not have, such as
        a language, is not for them."""
        if kind is self.kind:
            return self.of_runs
        default = compose(_default(kind))
        groups = {key: given for key, given in self.of_runs.items() if "." not in key and _has(default, key)}
        chosen = compose([*_default(kind), *groups.values()])
        return {key: given for key, given in self.of_runs.items() if key in groups or _has(chosen, key)}


def _default(kind: type[Config]) -> list[str]:
    """The overrides that describe a run of a kind, all else left open."""
    return [f"task={kind.default_task}"]


def _has(config: Any, key: str) -> bool:
    """Whether a config has the dotted ``key``."""
    for name in key.split("@")[0].split("."):
        if not isinstance(config, Mapping) or name not in config:
            return False
        config = config[name]
    return True
