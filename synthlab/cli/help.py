"""``synthlab task=copy --help``: the keys that apply to a run on this task, and no others."""

import json
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from synthlab.config.base import BOOKKEEPING, Config
from synthlab.config.comments import comments_of_member, find_group_files, read_comments
from synthlab.config.composition import compose_raw, to_override, to_plain
from synthlab.config.families import conf_dir, families, family_of_kind, groups_of, tasks_of
from synthlab.config.hydra_errors import input_errors
from synthlab.config.registry import describe_unknown, show
from synthlab.errors import InputError

COMPLETION = 'eval "$(synthlab -sc install=bash)"'
SIZES = (("width", 64, 32), ("depth", 2, 1))  # of the model in an example: the first that differs from the help's
WIDEST, COLUMN = 120, 32  # width of a line, and of the key=value column, in characters


def describe_run(overrides: Sequence[str], folders: Sequence[Path] = (), sweeps: bool = False) -> Iterator[str]:
    """Yield the lines of help on the run that ``overrides`` describe.

    ``folders`` have config files of the user's own. With ``sweeps``, the overrides describe a sweep of such runs, with
    the keys of sweeps. Raises InputError for invalid overrides.
    """
    given = _first_values(overrides) if sweeps else overrides
    with input_errors(given):
        config = to_plain(compose_raw(given), resolve=False)
    family = _check_members(config)
    task = str(config["task"]["name"])
    yield "synthlab run [key=value ...]    train one model and print its error by length; run can be left out"
    yield "synthlab sweep [key=a,b ...]    train every combination, and rank them\n"
    answer, _, score = read_comments(conf_dir() / "family" / f"{family}.yaml").title.partition(": ")
    title = comments_of_member("task", task, folders).title
    yield f"task={task}: {title}" if title else f"task={task}"
    yield f"{answer}. Score: {score}\n"
    yield "Groups: a name selects a file of conf/GROUP/, whose keys follow as GROUP.key=value"
    for group in (*groups_of(family), "tracker"):
        members = (
            tasks_of(family)
            if group == "task"
            else dict.fromkeys(path.stem for path in find_group_files(group, folders))
        )
        yield from _wrap_lines(f"  {group}", ", ".join(members), 14)
        if group == "task":
            others = [each for other in families() if other != family for each in tasks_of(other)]
            yield from _wrap_lines("", f"and, with other keys: {', '.join(others)}", 14)
    yield "\nKeys, with the defaults of this task"
    yield from _keys(config, family, folders, sweeps)
    yield ""
    yield from _examples(config, family)


def _first_values(overrides: Sequence[str]) -> list[str]:
    """Return the overrides of the first run of a sweep."""
    from synthlab.sweeps.sweep_grid import parse_sweep

    fixed, _, swept = parse_sweep(overrides)
    return [*fixed, *(to_override(key, values[0]) for key, values in swept.items())]


def _check_members(config: Mapping[str, Any]) -> str:
    """Return the family. Raises InputError if a user's file or override has dropped or replaced a group or a seed."""
    family = family_of_kind(config.get("kind"))
    if family is None:
        raise InputError(describe_unknown("kind", config.get("kind"), [file["kind"] for file in families().values()]))
    missing = [key for key in (*groups_of(family), *Config.SEEDS) if key not in config]
    if missing:
        raise InputError(*(f"{key}: missing; must be given" for key in missing))
    for key in (*groups_of(family), "tracker"):
        value = config.get(key, {"name": ""})
        if not isinstance(value, Mapping) or "name" not in value:
            raise InputError(f"{key}={show(value)}: must be the name of a file of that group")
    return family


def _keys(config: Mapping[str, Any], family: str, folders: Sequence[Path], sweeps: bool) -> Iterator[str]:
    files = ("config", "common", f"family/{family}")
    shared = {key: text for name in files for key, text in read_comments(conf_dir() / f"{name}.yaml").keys.items()}
    groups = groups_of(family)
    of_runs = [key for key in config if key not in (*groups, *BOOKKEEPING, *Config.SEEDS, "kind")]
    of_commands = [key for key in BOOKKEEPING if key in config]
    for key in (*groups, *of_runs, *Config.SEEDS, *of_commands):
        value = config[key]
        if key in groups or key == "tracker":
            yield from _member(key, cast(Mapping[str, Any], value), folders, shared)
        else:
            yield from _entries(key, value, shared)
    if sweeps:
        launchers = "joblib, slurm, submitit_local, ray: train in jobs"
        yield from _wrap_lines("  hydra/launcher=basic", launchers, COLUMN)


def _member(group: str, value: Mapping[str, Any], folders: Sequence[Path], shared: Mapping[str, str]) -> Iterator[str]:
    name = str(value["name"])
    about = comments_of_member(group, name, folders)
    if group == "extension":  # its file may include that of an encoding
        about = about._replace(keys=comments_of_member("encoding", name, folders).keys | about.keys)
    comment = "; ".join(filter(None, [about.title, shared.get(group)])) if group != "model" else about.title
    yield from _wrap_lines(f"  {group}={name}", comment if group != "task" else "", COLUMN)
    own = {f"{group}.{key}": text for key, text in about.keys.items()}
    for key, item in value.items():
        if key != "name":
            yield from _entries(f"{group}.{key}", item, {**own, **shared})


def _entries(key: str, value: Any, comments: Mapping[str, str]) -> Iterator[str]:
    comment = comments.get(key, "")
    if not isinstance(value, Mapping):
        yield from _wrap_lines(f"  {key}={_text(value)}", comment, COLUMN)
        return
    if comment:
        yield from _wrap_lines(f"  {key}", comment, COLUMN)
    for inner, item in cast(Mapping[str, Any], value).items():
        yield from _entries(f"{key}.{inner}", item, comments)


def _text(value: Any) -> str:
    """Return a value as it is written on the command line."""
    if isinstance(value, list):
        return f"[{','.join(map(_text, cast(list[Any], value)))}]"
    return value if isinstance(value, str) else json.dumps(value)


def _wrap_lines(head: str, text: str, column: int) -> Iterator[str]:
    """Yield a key and its explanation, in lines that fit the terminal."""
    width = min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns) - column
    first, *more = textwrap.wrap(text, max(width, 40), break_long_words=False, break_on_hyphens=False) or [""]
    if len(head) >= column:
        yield head
        head = ""
    yield f"{head:<{column}}{first}".rstrip()
    for line in more:
        yield " " * column + line


def _examples(config: Mapping[str, Any], family: str) -> Iterator[str]:
    """Yield commands whose values differ from those of ``config``."""
    task = str(config["task"]["name"])
    other = next((each for each in tasks_of(family) if each != task), task)

    def change(key: str, *values: Any) -> str:
        group, _, name = key.rpartition(".")
        before = (config[group] if group else config).get(name)
        return f"{key}={next(value for value in values if value != before)}"

    encoding = next(name for name in ("alibi", "rope") if name != config["encoding"]["name"])
    sizes = [change(f"model.{key}", *values) for key, *values in SIZES if key in config["model"]]
    yield "Examples"
    yield f"  synthlab task={task} encoding={encoding} {change('seed', 3, 4)}"
    yield f"  synthlab task={task} {' '.join([*sizes, change('protocol.steps', 500, 1000)])}"
    yield f"  synthlab sweep task={task},{other} encoding=nope,alibi 'seed=range(5)' tag=pilot"
    yield f"  {f'synthlab task={task} --cfg job':<40}the whole config, nothing trained"
    yield f"  {f'synthlab task={other} --help':<40}the keys of another task"
    yield f"  {COMPLETION:<40}then: synthlab task=<TAB>"
