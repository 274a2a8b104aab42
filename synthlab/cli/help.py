"""``synthlab task=copy --help``: the keys that apply to a run on this task, and no others."""

import json
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from synthlab.runs.comments import comments_of_member, find_group_files, read_comments
from synthlab.runs.composition import compose, to_override
from synthlab.runs.conf_files import conf_dir, families, groups_of, tasks_of
from synthlab.runs.run import BOOKKEEPING, Run, run_type

COMPLETION = 'eval "$(synthlab -sc install=bash)"'
MAX_WIDTH, COLUMN = 120, 32  # width of a line, and of the key=value column, in characters


def describe_run(overrides: Sequence[str], sweeps: bool = False) -> Iterator[str]:
    """Yield the lines of help on the run that ``overrides`` describe, or with ``sweeps`` on a sweep of such runs.

    Raises InputError for invalid overrides.
    """
    given = _first_values(overrides) if sweeps else overrides
    config = compose(given, resolve=False)
    family = run_type(config["family"]).from_raw(compose(given)).family
    task, groups = str(config["task"]["name"]), groups_of(family)
    yield "synthlab run [key=value ...]    train one model and print its error by length; run can be left out"
    yield "synthlab sweep [key=a,b ...]    train every combination, and rank them\n"
    answer, _, score = read_comments(conf_dir() / "family" / f"{family}.yaml").title.partition(": ")
    title = comments_of_member("task", task).title
    yield f"task={task}: {title}" if title else f"task={task}"
    yield f"{answer}. Score: {score}\n"
    yield "Groups: a name selects a file of conf/GROUP/, whose keys follow as GROUP.key=value"
    yield from _wrap_lines("  task", ", ".join(tasks_of(family)), 14)
    others = [each for other in families() if other != family for each in tasks_of(other)]
    yield from _wrap_lines("", f"and, with other keys: {', '.join(others)}", 14)
    for group in (*groups[1:], "tracker"):
        yield from _wrap_lines(
            f"  {group}", ", ".join(dict.fromkeys(path.stem for path in find_group_files(group))), 14
        )
    yield "\nKeys, with the defaults of this task"
    files = ("config", "common", f"family/{family}")
    shared = {key: text for name in files for key, text in read_comments(conf_dir() / f"{name}.yaml").keys.items()}
    of_runs = [key for key in config if key not in (*groups, *BOOKKEEPING, *Run.SEEDS, "family")]
    for key in (*groups, *of_runs, *Run.SEEDS, *BOOKKEEPING):
        value = config.get(key)
        if isinstance(value, Mapping) and "name" in value:
            yield from _member(key, cast(Mapping[str, Any], value), shared)
        else:
            yield from _entries(key, value, shared)
    if sweeps:
        launchers = "joblib, slurm, submitit_local, ray: train in jobs"
        yield from _wrap_lines("  hydra/launcher=basic", launchers, COLUMN)
    yield "\nExamples"
    other = next((each for each in tasks_of(family) if each != task), task)
    yield f"  synthlab task={task} encoding=alibi protocol.steps=500 seed=3"
    yield f"  synthlab sweep task={task},{other} encoding=nope,alibi 'seed=range(5)' tag=pilot"
    yield f"  {f'synthlab task={task} --cfg job':<40}the whole config, nothing trained"
    yield f"  {f'synthlab task={other} --help':<40}the keys of another task"
    yield f"  {COMPLETION:<40}then: synthlab task=<TAB>"


def _first_values(overrides: Sequence[str]) -> list[str]:
    """Return the overrides of the first run of a sweep."""
    from synthlab.sweeps.sweep_grid import parse_sweep

    fixed, _, swept = parse_sweep(overrides)
    return [*fixed, *(to_override(key, values[0]) for key, values in swept.items())]


def _member(group: str, value: Mapping[str, Any], shared: Mapping[str, str]) -> Iterator[str]:
    name = str(value["name"])
    about = comments_of_member(group, name)
    if group == "extension":  # its file may include that of an encoding
        about = about._replace(keys=comments_of_member("encoding", name).keys | about.keys)
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
    width = min(MAX_WIDTH, shutil.get_terminal_size((MAX_WIDTH, 24)).columns) - column
    first, *more = textwrap.wrap(text, max(width, 40), break_long_words=False, break_on_hyphens=False) or [""]
    if len(head) >= column:
        yield head
        head = ""
    yield f"{head:<{column}}{first}".rstrip()
    for line in more:
        yield " " * column + line
