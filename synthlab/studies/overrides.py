"""The settings that the command line gives for the runs of studies."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from synthlab.config.base import BOOKKEEPING, Config
from synthlab.config.composition import Composer, compose, family_of
from synthlab.config.families import families, groups_of, kind_of_family
from synthlab.config.registry import describe_unknown_key, key_of
from synthlab.errors import InputError

NOT_RUNS = ("study", "seeds", "first_seed", "replot", "quick")  # keys of the command that are not keys of its runs
OF_THE_COMMAND = (*NOT_RUNS, *BOOKKEEPING)


class Overrides:
    """Settings (``key=value``) of the runs of studies, and edits ``study.NAME.key=value`` of studies.

    Runs of each family take the settings that they have. Raises InputError for settings that no run can take.
    """

    def __init__(self, given: Iterable[str] = ()):
        by_key = {key_of(override): override for override in given}
        if "seed" in by_key:
            raise InputError(f"{by_key['seed']}: the runs of a study have the seeds from first_seed on; give seeds=N")
        if "kind" in by_key:
            raise InputError(f"{by_key['kind']}: follows from the task of a run; leave it out")
        self._edits = {key: override for key, override in by_key.items() if key.startswith("study.")}
        self.of_runs = {key: override for key, override in by_key.items() if key not in self._edits}
        for override in self.of_runs.values():
            if override.startswith("~") or "${" in override:
                raise InputError(f"{override}: the runs of a study take plain values; write key=value")
        self.task = self.of_runs["task"].partition("=")[2].strip("'\"") if "task" in self.of_runs else None
        self._taken: dict[str, dict[str, str]] = {}
        self._composers: dict[str, Composer] = {}

    def compose(self, field: str, settings: Mapping[str, Any], default: str = "mean") -> dict[str, Any]:
        """Return the config of a run: a grid's single ``settings`` on top of the command line's.

        If the grid names no task, it is the command line's, or else ``default``. Hydra composes each task alone, and
        each member of another group for its family alone, instead of every combination. This is the same where no file
        of a group depends on another group, or sets its keys.

        Raises InputError for a setting of the command line that the grid, ``field``, sets itself, and for a file that
        sets keys of other groups.
        """
        task = str(settings.get("task") or self.task or default)
        family = family_of(task)
        taken = self._select(family)
        for key, override in taken.items():
            if key.split("@")[0] in settings:
                raise InputError(f"{override}: {field} sets {key} itself; see conf/study/")
        if family not in self._composers:
            self._composers[family] = Composer(taken.values())
        compose, usual = self._composers[family].compose, {"task": self._default(family).partition("=")[2]}
        chosen = {group for group in groups_of(family)[1:] if group in settings}
        own = {key: value for key, value in settings.items() if re.split("[.@]", key)[0] not in chosen}
        raw = compose({"task": task, **own})
        for group in chosen:
            within = {key: value for key, value in settings.items() if re.split("[.@]", key)[0] == group}
            alone, plain = compose(usual | within), compose(usual)
            beside = [key for key in alone if key != group and alone[key] != plain.get(key)]
            if beside:
                mend = "move these settings to the figure's file"
                raise InputError(f"{group}={settings[group]}: its file also sets {', '.join(beside)}; {mend}")
            raw[group] = alone[group]
        return raw

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
                known = compose([self._default(of[0])])
                if "." not in key and key not in known:
                    raise InputError(describe_unknown_key(override, [*NOT_RUNS[1:], *sorted(known.keys() - {"seed"})]))
                compose([self._default(of[0]), override])  # raises an error with similar names
                raise InputError(f"{override}: none of the runs has this setting; leave it out")

    def _default(self, family: str) -> str:
        """Return the override that describes a run of a family, with everything else at its default."""
        mine = self.task is not None and family_of(self.task) == family
        return self.of_runs["task"] if mine else f"task={kind_of_family(family).default_task}"

    def _select(self, family: str) -> dict[str, str]:
        """Return the settings that runs of a family have. Others are for other families."""
        if not self.of_runs or family in self._taken:
            return self._taken.get(family, {})
        default = self._default(family)
        without = compose([default])
        groups = {key: given for key, given in self.of_runs.items() if "." not in key and key in without}
        if default not in groups.values():
            groups.pop("task", None)
        chosen = compose([default, *groups.values()])
        self._taken[family] = {
            key: given for key, given in self.of_runs.items() if key in groups or (key != "task" and _has(chosen, key))
        }
        return self._taken[family]


def _families_of(configs: Iterable[Config]) -> list[str]:
    """Return the families that the runs belong to."""
    kinds = dict.fromkeys(type(config) for config in configs)
    return list(dict.fromkeys(next(of for of in families() if issubclass(kind, kind_of_family(of))) for kind in kinds))


def _has(config: Any, key: str) -> bool:
    """Return True if a config has the dotted ``key``, or may have it, as an argument of the user's optimizer."""
    for name in key.split("@")[0].split("."):
        if not isinstance(config, Mapping) or name not in config:
            return key.startswith("protocol.options.")
        config = config[name]
    return True
