"""The settings that the command line gives for the runs of studies."""

from collections.abc import Iterable, Mapping
from typing import Any

from synthlab.config.base import Config
from synthlab.config.composition import Composed, compose
from synthlab.config.families import CLASS, families, family_of, keys_of, kind_of_family
from synthlab.config.registry import describe_unknown_key
from synthlab.errors import InputError

NOT_RUNS = ("study", "seeds", "first_seed", "replot", "quick")  # keys of the command that are not keys of its runs


class Overrides:
    """Settings (``key=value``) of the runs of studies, and edits ``study.NAME.key=value`` of studies.

    Runs of each family take the settings that they have. Raises InputError for settings that no run can take.
    """

    def __init__(self, given: Iterable[str] = ()):
        by_key = {override.lstrip("+~").split("=")[0]: override for override in given}
        if "seed" in by_key:
            raise InputError(f"{by_key['seed']}: the runs of a study have the seeds from first_seed on; give seeds=N")
        if "kind" in by_key:
            raise InputError(f"{by_key['kind']}: follows from the task of a run; leave it out")
        self._edits = {key: override for key, override in by_key.items() if key.startswith("study.")}
        self.of_runs = {key: override for key, override in by_key.items() if key not in self._edits}
        for override in self.of_runs.values():
            if override.startswith("~") or "${" in override:
                raise InputError(f"{override}: the runs of a study take plain values; write key=value")
        self._values = {key: override.partition("=")[2].strip("'\"") for key, override in self.of_runs.items()}
        self._bases: dict[str, Composed] = {}
        self._known: dict[str, dict[str, str]] = {}

    def base(self, task: Any = None, default: str = "mean") -> Composed:
        """Return the config that runs of ``task`` start from.

        If a grid names no task, it is the command line's, or else ``default``.
        """
        family = family_of(str(task or self._values.get("task", default)))
        if family not in self._bases:
            taken = self._select(family)
            self._bases[family] = Composed(compose([*self._default(family), *taken.values()]), taken)
        return self._bases[family]

    def text(self, study: str, configs: Iterable[Config]) -> str:
        """Return, in one line, how ``study`` differs from its file.

        These are the settings that its runs, ``configs``, take, and edits of the study itself.
        """
        taken = {key for family in _families_of(configs) for key in self._select(family)}
        edits = [override for key, override in self._edits.items() if f"{key}.".startswith(f"study.{study}.")]
        return " ".join([*(override for key, override in self.of_runs.items() if key in taken), *edits])

    def check_all_taken(self, configs: Iterable[Config]) -> None:
        """Raise InputError for a setting that none of the runs ``configs`` has."""
        of = _families_of(configs)
        taken = {key for family in of for key in self._select(family)}
        for key, override in self.of_runs.items():
            if key not in taken:
                known = [name for name in compose(self._default(of[0])) if name != "seed"]
                if "." not in key and key not in (*known, *(own for each in families() for own in keys_of(each))):
                    raise InputError(describe_unknown_key(override, [*NOT_RUNS[1:], *known]))
                compose([*self._default(of[0]), override])  # raises an error with similar names
                raise InputError(f"{override}: none of the runs has this setting; leave it out")

    def _default(self, family: str) -> list[str]:
        """Return the overrides that describe a run of a family, with everything else at its default."""
        mine = "task" in self._values and family_of(self._values["task"]) == family
        return [] if mine else [f"task={kind_of_family(family).default_task}"]

    def _select(self, family: str) -> dict[str, str]:
        """Return the settings that runs of a family have. Others are for other families."""
        if not self.of_runs or family in self._known:
            return self._known.get(family, {})
        default = self._default(family)
        without = compose(default or [self.of_runs["task"]])
        groups = {key: given for key, given in self.of_runs.items() if "." not in key and _has(without, key)}
        if default:
            groups.pop("task", None)
        chosen = compose([*default, *groups.values()])
        # Classes of the user, whose arguments no file names.
        own = [key for key in groups if CLASS.fullmatch(self._values[key])]
        self._known[family] = {
            key: given
            for key, given in self.of_runs.items()
            if key in groups or key.split(".")[0] in own or (key != "task" and _has(chosen, key))
        }
        return self._known[family]


def _families_of(configs: Iterable[Config]) -> list[str]:
    """Return the families that the runs belong to."""
    kinds = dict.fromkeys(type(config) for config in configs)
    return list(dict.fromkeys(next(of for of in families() if issubclass(kind, kind_of_family(of))) for kind in kinds))


def _has(config: Any, key: str) -> bool:
    """Return True if a config has the dotted ``key``."""
    for name in key.split("@")[0].split("."):
        if not isinstance(config, Mapping) or name not in config:
            return False
        config = config[name]
    return True
