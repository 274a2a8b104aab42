"""Tasks that EleutherAI's harness has, by name: which call of it runs them, and the rows of their scores. Needs the
extra ``evaluate``."""

import json
import os
import random
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch

from synthlab.benchmarks.data import data_from
from synthlab.benchmarks.made import MADE
from synthlab.benchmarks.scores import GROUP_OF, Rows, by_length, longbench_rows, rows
from synthlab.errors import InputError, in_one_line

FOLDERS = ("longbench", "babilong", "ruler")  # of the harness's tasks; all 14,000 take half a minute to list
RULER = ("ruler", "niah_")
BABILONG = "babilong"


class Setting(NamedTuple):
    """What all calls of the harness share."""

    lm: Any
    seed: int
    limit: int | None


def named_rows(
    setting: Setting, names: Sequence[str], data: str | os.PathLike[str] | None, tokenizer: Any, lengths: Sequence[int]
) -> Rows:
    """The rows of tasks that the harness has. BABILong takes one length a call, and others none."""
    found: Rows = []
    babilong = [name for name in names if name.startswith(BABILONG)]
    others = [
        each for name in names if name not in babilong for each in (GROUP_OF if name == "longbench_e" else [name])
    ]
    with data_from(data), TemporaryDirectory() as folder:
        _find_punctuation(data)
        save_tokenizer(tokenizer, folder)
        if others:
            given = {"tokenizer": folder, **({"max_seq_lengths": list(lengths)} if lengths else {})}
            out = run(setting, _loaded(list(dict.fromkeys(others)), given))
            for task, samples in out["samples"].items():
                found += _rows(task, samples, out["results"][task])
        for length in (thousands(each) for each in (lengths or (0,))) if babilong else ():
            given = {"tokenizer": folder, "max_seq_lengths": length}
            out = run(setting, _loaded(babilong, given))
            for task, samples in out["samples"].items():
                found += rows(task, samples, out["results"][task], BABILONG, length)
    return found


def save_tokenizer(tokenizer: Any, folder: str) -> None:
    """Save a tokenizer for the tasks that open it themselves. They trust code that it names, so it names none."""
    tokenizer.save_pretrained(folder)
    config = Path(folder) / "tokenizer_config.json"
    known = json.loads(config.read_text(encoding="utf-8"))
    known.pop("auto_map", None)
    config.write_text(json.dumps(known), encoding="utf-8")


def _rows(task: str, samples: Sequence[Mapping[str, Any]], aggregated: Mapping[str, Any]) -> Rows:
    if task in GROUP_OF:
        return longbench_rows(task, samples, aggregated)
    if task.startswith(RULER):
        return by_length(task, samples, "ruler", lambda sample: str(sample["doc"]["max_length"]), "recall")
    return rows(task, samples, aggregated)


def run(setting: Setting, tasks: Sequence[Any]) -> dict[str, Any]:
    """The harness's results and samples of task objects. Does what its ``simple_evaluate`` does, without a list of all
    tasks and an account of the machine, which take a minute."""
    import lm_eval  # pyright: ignore[reportMissingImports]

    random.seed(setting.seed)
    np.random.seed(setting.seed)  # noqa: NPY002 - what tasks of the harness draw from
    torch.manual_seed(setting.seed)
    for task in tasks:
        if task.get_config("num_fewshot") is None:
            task.set_config(key="num_fewshot", value=0)
        task.set_fewshot_seed(seed=setting.seed)
    loaded = {"tasks": {task.task_name: task for task in tasks}, "groups": {}}
    out = lm_eval.evaluate(setting.lm, loaded, limit=setting.limit, bootstrap_iters=0)
    assert out is not None  # only on processes of a higher rank
    return out


def _loaded(names: Sequence[str], metadata: dict[str, Any]) -> list[Any]:
    """The harness's task objects with their data. Raises InputError."""
    manager = _manager(names, metadata)
    try:
        loaded = list(manager.load(list(names))["tasks"].values())
        for task in loaded:
            if getattr(task, "UNSAFE_CODE", False):
                raise InputError(f"tasks={task.task_name}: runs what the model writes; must be a task that does not")
        return loaded
    except InputError:
        raise
    except Exception as error:  # of the data, which may be anything, or of a package that a task needs
        if isinstance(error, LookupError) and "punkt" in str(error):
            raise InputError(
                "data: RULER needs NLTK's punkt_tab, which cannot be had; give data=FOLDER and put it into "
                "FOLDER/nltk_data/tokenizers/punkt_tab"
            ) from None
        raise InputError(f"tasks={', '.join(names)}: cannot be made: {in_one_line(error)}") from None


def _manager(names: Sequence[str], metadata: dict[str, Any]) -> Any:
    """The harness's list of tasks, as small as has all the names. Raises InputError for a name that it lacks."""
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
            near = get_close_matches(name, [*MADE, *manager.all_tasks], n=3) or [*MADE]
            raise InputError(f"tasks={name}: must be a task of lm_eval or one made here, such as {', '.join(near)}")
    return manager


def thousands(length: int) -> str:
    """A length as BABILong names it: ``4k``."""
    for unit in (1000, 1024):
        times, rest = divmod(length, unit)
        if not rest and not times & (times - 1):  # 128,000 is 125 times 1,024, too
            return f"{times}k"
    raise InputError(
        f"lengths={length}: must be 1000 or 1024 times 0, 1, 2, 4, ... for BABILong, which has 0k, 1k, 2k, 4k"
    )


def _find_punctuation(data: str | os.PathLike[str] | None) -> None:
    if data is not None and (folder := Path(data) / "nltk_data").is_dir():
        import nltk  # pyright: ignore[reportMissingImports]

        if str(folder) not in nltk.data.path:
            nltk.data.path.append(str(folder))
