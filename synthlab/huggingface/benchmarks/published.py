"""The tasks of EleutherAI's harness, by name: how to run them, and the rows of their scores.

Needs the extra ``evaluate``.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch

from synthlab.errors import InputError, format_error, is_of_memory
from synthlab.huggingface.benchmarks.data import DataSource
from synthlab.huggingface.benchmarks.ruler import NAMES as RULER
from synthlab.huggingface.benchmarks.ruler import check_room, ruler_files
from synthlab.huggingface.benchmarks.scores import (
    GROUP_OF,
    LoggedSample,
    Rows,
    group_by_length,
    longbench_rows,
    make_rows,
)
from synthlab.huggingface.benchmarks.synthetic import SYNTHETIC

FOLDERS = ("longbench", "babilong", "ruler")  # folders of the harness's tasks; all 14,000 take half a minute to list
BABILONG = "babilong"
SHOWN = 300  # the most characters of a reason in an error


class Setting(NamedTuple):
    """The settings that all calls of the harness share."""

    lm: Any
    seed: int
    limit: int | None


class ReadyTask(NamedTuple):
    """A task object with its data, a unique name, and a function from its samples and results to rows."""

    label: str
    task: Any
    rows: Callable[[Sequence[LoggedSample], Mapping[str, Any]], Rows]


def load_published_tasks(
    names: Sequence[str], source: DataSource, tokenizer: Any, lengths: Sequence[int], seed: int
) -> list[ReadyTask]:
    """Open the harness's tasks with their data, inside ``data_from`` of the source.

    BABILong takes one length a call, other tasks none.

    Raises:
        InputError: A name or a length is not available, or data is missing or damaged.
    """
    babilong = [name for name in names if name.startswith(BABILONG)]
    named = [thousands(each) for each in (lengths or (0,))] if babilong else []
    others = [
        each for name in names if name not in babilong for each in (GROUP_OF if name == "longbench_e" else [name])
    ]
    found: list[ReadyTask] = []
    with TemporaryDirectory() as folder:
        save_tokenizer(tokenizer, folder)
        if others:
            given = {"tokenizer": folder, **({"max_seq_lengths": list(lengths)} if lengths else {})}
            is_ruler = any(name.startswith(RULER) for name in others)
            with ruler_files(source) if is_ruler else nullcontext():
                check_room(others, lengths, lambda text: tokenizer(text)["input_ids"])
                loaded = _load(list(dict.fromkeys(others)), given, seed)
            found += [ReadyTask(task.task_name, task, partial(_rows, task.task_name)) for task in loaded]
        for length in named:
            given = {"tokenizer": folder, "max_seq_lengths": length}
            found += [
                ReadyTask(
                    f"{task.task_name}, {length}",
                    task,
                    partial(make_rows, task.task_name, group=BABILONG, length=length),
                )
                for task in _load(babilong, given, seed)
            ]
    return found


def save_tokenizer(tokenizer: Any, folder: str) -> None:
    """Save a tokenizer for tasks that open it themselves, without references to code, which they would trust."""
    tokenizer.save_pretrained(folder)
    config = Path(folder) / "tokenizer_config.json"
    known = json.loads(config.read_text(encoding="utf-8"))
    known.pop("auto_map", None)
    config.write_text(json.dumps(known), encoding="utf-8")


def _rows(task: str, samples: Sequence[LoggedSample], aggregated: Mapping[str, Any]) -> Rows:
    if task in GROUP_OF:
        return longbench_rows(task, samples, aggregated)
    if task.startswith(RULER):
        return group_by_length(task, samples, "ruler", lambda sample: str(sample["doc"]["max_length"]), "recall")
    return make_rows(task, samples, aggregated)


def run_task(setting: Setting, task: Any) -> dict[str, Any]:
    """Run a task object and return the harness's results and samples.

    This does what the harness's ``simple_evaluate`` does, without its list of all tasks and its description of the
    machine, which take a minute. Raises InputError for data that it cannot evaluate.
    """
    import lm_eval  # pyright: ignore[reportMissingImports]

    seed_all(setting.seed)
    if task.get_config("num_fewshot") is None:
        task.set_config(key="num_fewshot", value=0)
    task.set_fewshot_seed(seed=setting.seed)
    loaded = {"tasks": {task.task_name: task}, "groups": {}}
    try:
        out = lm_eval.evaluate(setting.lm, loaded, limit=setting.limit, bootstrap_iters=0)
    except Exception as error:  # for example a sample without a field, or with one of another type
        if isinstance(error, InputError) or is_of_memory(error):
            raise
        raise InputError(f"tasks={task.task_name}: cannot be evaluated: {format_error(error):.{SHOWN}}") from None
    assert out is not None  # None only on processes of a higher rank
    return out


def seed_all(seed: int) -> None:
    """Seed the generators that tasks of the harness use for their data and examples."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)


def _load(names: Sequence[str], metadata: dict[str, Any], seed: int) -> list[Any]:
    """Open the harness's task objects with their data. Raises InputError."""
    manager = _manager(names, metadata)
    seed_all(seed)
    try:
        loaded = list(manager.load(list(names))["tasks"].values())
    except InputError:
        raise
    except Exception as error:  # from the data, which may be anything, or from a missing package
        if is_of_memory(error) or (isinstance(error, LookupError) and "punkt" in str(error)):
            raise
        raise InputError(f"tasks={', '.join(names)}: cannot be made: {format_error(error):.{SHOWN}}") from None
    for task in loaded:
        if getattr(task, "UNSAFE_CODE", False):
            raise InputError(f"tasks={task.task_name}: executes code that the model writes; choose another task")
        if task.task_name in GROUP_OF and "length" not in task.test_docs().column_names:
            raise InputError(f"tasks={task.task_name}: its data must have the field length, a number of words")
    return loaded


def _manager(names: Sequence[str], metadata: dict[str, Any]) -> Any:
    """Open the harness's smallest list of tasks that has all names. Raises InputError for an unknown name."""
    from lm_eval import tasks  # pyright: ignore[reportMissingImports]

    folder = Path(tasks.__file__).parent
    manager = tasks.TaskManager(
        include_path=[folder / each for each in FOLDERS], include_defaults=False, metadata=metadata
    )
    if all(name in manager.all_tasks for name in names):
        return manager
    manager = tasks.TaskManager(metadata=metadata)
    for name in names:
        if name not in manager.all_tasks:
            near = get_close_matches(name, [*SYNTHETIC, *manager.all_tasks], n=3) or [*SYNTHETIC]
            raise InputError(f"tasks={name}: must be a task of lm_eval or one made here, such as {', '.join(near)}")
    return manager


def thousands(length: int) -> str:
    """Return a length as BABILong names it: ``4k``."""
    for unit in (1000, 1024):
        times, rest = divmod(length, unit)
        if not rest and not times & (times - 1):  # 128,000 is also 125 times 1,024
            return f"{times}k"
    raise InputError(
        f"lengths={length}: must be 1000 or 1024 times 0, 1, 2, 4, ... for BABILong, which has 0k, 1k, 2k, 4k"
    )
