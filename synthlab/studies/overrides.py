"""The settings that the command line gives for the runs of studies."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from synthlab.errors import InputError
from synthlab.runs.composition import OPTIONS, Composer, compose, family_of
from synthlab.runs.conf_files import run_type
from synthlab.runs.registry import describe_unknown_key, key_of
from synthlab.runs.run import BOOKKEEPING

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
        if "family" in by_key:
            raise InputError(f"{by_key['family']}: follows from the task of a run; leave it out")
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

        If the grid names no task, it is the command line's, or else ``default``. Raises InputError for a setting of the
        command line that the grid, ``field``, sets itself.
        """
        task = self._task(settings, default)
        family = family_of(task)
        taken = self._select(family)
        for key, override in taken.items():
            if key.split("@")[0] in settings:
                raise InputError(f"{override}: {field} sets {key} itself; see conf/study/")
        composer = self._composers.setdefault(family, Composer(taken.values()))
        return composer.compose({"task": task, **settings})

    def find_family(self, settings: Mapping[str, Any], default: str) -> str:
        """Return the family of the run that ``compose`` makes of ``settings``, without composing it."""
        return family_of(self._task(settings, default))

    def text(self, study: str, families: Iterable[str]) -> str:
        """Return, in one line, how ``study`` differs from its file.

        These are the settings that its runs, of ``families``, take, and edits of the study itself.
        """
        taken = {key for family in families for key in self._select(family)}
        edits = [override for key, override in self._edits.items() if f"{key}.".startswith(f"study.{study}.")]
        return " ".join([*(override for key, override in self.of_runs.items() if key in taken), *edits])

    def check_all_taken(self, families: Sequence[str]) -> None:
        """Raise InputError for a setting that no run of ``families`` has."""
        taken = {key for family in families for key in self._select(family)}
        for key, override in self.of_runs.items():
            if key not in taken:
                known = compose([self._default(families[0])])
                if "." not in key and key not in known:
                    raise InputError(describe_unknown_key(override, [*NOT_RUNS[1:], *sorted(known.keys() - {"seed"})]))
                compose([self._default(families[0]), override])  # raises an error with similar names
                raise InputError(f"{override}: none of the runs has this setting; leave it out")

    def _task(self, settings: Mapping[str, Any], default: str) -> str:
        return str(settings.get("task") or self.task or default)

    def _default(self, family: str) -> str:
        """Return the override that describes a run of a family, with everything else at its default."""
        mine = self.task is not None and family_of(self.task) == family
        return self.of_runs["task"] if mine else f"task={run_type(family).default_task}"

    def _select(self, family: str) -> dict[str, str]:
        """Return the settings that runs of a family have. Others are for other families."""
        if self.of_runs and family not in self._taken:
            default = self._default(family)
            without = compose([default])
            groups = {key: given for key, given in self.of_runs.items() if "." not in key and key in without}
            if default not in groups.values():
                groups.pop("task", None)
            chosen = compose([default, *groups.values()])
            self._taken[family] = {
                key: given
                for key, given in self.of_runs.items()
                if key in groups or (key != "task" and _has(chosen, key))
            }
        return self._taken.get(family, {})


def _has(config: Any, key: str) -> bool:
    """Return True if a config has the dotted ``key``, or may have it, below ``composition.OPTIONS``."""
    first, *others = key.split("@")[0].split(".")
    if first not in config:
        return False
    config = config[first]
    for name in others:
        if not isinstance(config, Mapping) or name not in config:
            return key.startswith(OPTIONS)
        config = config[name]
    return True
