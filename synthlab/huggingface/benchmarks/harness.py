"""Benchmarks of long texts on a model: EleutherAI's tasks by name. Needs the extra ``evaluate``."""

import hashlib
import json
import os
import random
from collections.abc import Callable, Sequence
from contextlib import chdir, nullcontext
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from pydantic import BaseModel, ConfigDict

from synthlab.errors import InputError, describe_missing, format_error, is_memory_error
from synthlab.huggingface.benchmarks.ruler import check_room
from synthlab.huggingface.benchmarks.scores import ALL, COLUMNS, GROUP_OF, longbench_groups, make_rows
from synthlab.huggingface.cache import Cache
from synthlab.huggingface.loading import silence
from synthlab.huggingface.perplexity.evaluation import OF_TASKS, catch_write_errors, write_files
from synthlab.huggingface.perplexity.models import Opened
from synthlab.huggingface.perplexity.settings import Settings
from synthlab.output import print_err
from synthlab.runs.registry import STRICT, did_you_mean
from synthlab.storage.files import Folder

try:
    import lm_eval  # pyright: ignore[reportMissingImports]
    from lm_eval.tasks import TaskManager  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise ImportError(describe_missing("synthlab.huggingface.benchmarks", "lm_eval", "evaluate")) from error

from synthlab.huggingface.benchmarks.model import HarnessModel

FOLDERS = ("longbench", "babilong", "ruler")  # folders of the harness's tasks; all 14,000 take half a minute to list
VERSION = 2  # raise this when a task with the same samples and model gets other scores
SHOWN = 300  # the most characters of a reason in an error


class OpenTask(NamedTuple):
    """A task of the harness with its data, and the length that its rows have."""

    task: Any
    length: str


class Scores(BaseModel):
    """A task's rows, and the number of its texts that lost their beginning."""

    model_config = STRICT | ConfigDict(allow_inf_nan=True)  # one sample has no standard error, NaN
    rows: list[dict[str, str | float | int]]
    cut: int


def evaluate_tasks(
    model: Any,
    tokenizer: Any,
    tasks: Sequence[str],
    task_data: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    seed: int = 0,
    lengths: Sequence[int] = (),
    max_length: int | None = None,
    batch_size: int = 1,
) -> pd.DataFrame:
    """Score a model on named tasks.

    Args:
        model: A causal model of Transformers. A run of the lab is one by
            ``synthlab.huggingface.bridge.to_huggingface``.
        tokenizer: Its tokenizer; ``synthlab.huggingface.bridge.byte_tokenizer()`` for a run of the lab.
        tasks: Names of the harness's tasks and groups, such as ``longbench_e`` (here with all six groups),
            ``babilong_longctx`` or ``niah_single_1``.
        task_data: A folder with copies of the data sets, OWNER/NAME each; others are taken from the hub.
        limit: The largest number of samples of each task; all by default.
        seed: The seed of the harness's random choices.
        lengths: Lengths in tokens of RULER (4,096 by default), and of BABILong (in thousands; 0 by default).
        max_length: The longest text that the model gets, in tokens; by default that of its config. Longer ones lose
            their beginning, and their number is printed on standard error.
        batch_size: The number of texts in a batch.

    Returns:
        A table with the columns task, group, length, metric, value, stderr (over samples; NaN if the harness has none)
        and samples. Scores of LongBench-E have a row for each bin of lengths, and rows of the task ``longbench_e`` for
        groups and overall, if all their tasks are there.

    Raises:
        InputError: A task or length is not available, data is missing or damaged, or tokenizer and model disagree.
    """
    was_training = model.training
    try:
        opened = open_tasks(tasks, tokenizer, task_data, lengths, seed)
        return _score_all(HarnessModel(model, tokenizer, max_length, batch_size), opened, limit, seed)
    finally:
        model.train(was_training)


def open_tasks(
    names: Sequence[str], tokenizer: Any, task_data: str | os.PathLike[str] | None, lengths: Sequence[int], seed: int
) -> list[OpenTask]:
    """Open tasks with their data; arguments are those of ``evaluate_tasks``.

    BABILong takes one length a call. Raises InputError for a name or a length that is not available, and for data that
    is missing or damaged.
    """
    if task_data is not None and not os.path.isdir(task_data):
        raise InputError(f"task_data={task_data}: must be a folder of data sets, OWNER/NAME each, or null for the hub")
    babilong = [name for name in names if name.startswith("babilong")]
    others = [
        each for name in names if name not in babilong for each in (GROUP_OF if name == "longbench_e" else [name])
    ]
    opened: list[OpenTask] = []
    # The library datasets opens a folder of the data set's name before it asks the hub.
    with TemporaryDirectory() as folder, nullcontext() if task_data is None else chdir(task_data), silence():
        save_tokenizer(tokenizer, folder)
        if others:
            given = {"tokenizer": folder, **({"max_seq_lengths": list(lengths)} if lengths else {})}
            check_room(others, lengths or (4096,), lambda text: tokenizer(text)["input_ids"])
            opened += [OpenTask(task, ALL) for task in _load(list(dict.fromkeys(others)), given, seed)]
        for length in map(thousands, lengths or (0,)) if babilong else ():
            given = {"tokenizer": folder, "max_seq_lengths": length}
            opened += [OpenTask(task, length) for task in _load(babilong, given, seed)]
    return opened


def prepare_tasks(settings: Settings, opened: Opened) -> Callable[[], tuple[pd.DataFrame, list[str]]]:
    """Open the tasks of ``synthlab evaluate``, and return a function that scores them and writes their table.

    It returns the table and the files, and records the scores of each task for later calls with the same model, samples
    and settings. Both raise InputError.
    """
    tasks = open_tasks(settings.tasks, opened.tokenizer, settings.task_data, settings.lengths, settings.seed)
    return partial(_write_scores, settings, opened, tasks)


def _write_scores(settings: Settings, opened: Opened, tasks: Sequence[OpenTask]) -> tuple[pd.DataFrame, list[str]]:
    lm, model = HarnessModel(opened.model, opened.tokenizer), opened.fingerprint + opened.tokenizer_fingerprint
    cache = Cache(Folder(settings.folder), Scores)
    with catch_write_errors(settings):
        table = _score_all(lm, tasks, settings.task_limit, settings.seed, cache, model)
    about = settings.model_dump(include={"model", "tokenizer", "dtype", "lengths", "seed"} | OF_TASKS)
    folder = f"tasks-{hashlib.sha256(json.dumps([model, about]).encode()).hexdigest()[:16]}"
    return table, write_files(settings, folder, {"tasks.csv": table.to_csv(index=False).encode()}, about)


def _score_all(
    lm: HarnessModel, tasks: Sequence[OpenTask], limit: int | None, seed: int, cache: Any = None, model: str = ""
) -> pd.DataFrame:
    """Return the table of ``evaluate_tasks``. Raises InputError, and OSError if the cache cannot be written."""
    rows, cut = [], 0
    for number, each in enumerate(tasks, 1):
        identity = _identify(each, limit, seed, lm.max_length, model)
        scores = None if cache is None else cache.read(identity)
        recorded = ", recorded" if scores else ""
        print_err(f"task {number} of {len(tasks)}: {each.task.task_name}, {each.length}{recorded}")
        if scores is None:
            scores = _score(lm, each, limit, seed)
            if cache is not None:
                cache.write(identity, scores)
        rows += scores.rows
        cut += scores.cut
    if cut:
        print_err(f"{cut} texts were longer than max_length={lm.max_length} and lost their beginning")
    return pd.DataFrame([*rows, *longbench_groups(pd.DataFrame(rows, columns=COLUMNS))], columns=COLUMNS)


def _identify(opened: OpenTask, limit: int | None, *setting: object) -> str:
    """Return a checksum of everything that decides a task's scores."""
    docs = hashlib.sha256()
    for doc in islice(opened.task.eval_docs, limit):
        docs.update(json.dumps(doc, sort_keys=True, default=str).encode())
    given = [VERSION, version("lm_eval"), opened.task.task_name, opened.length, docs.hexdigest(), limit, *setting]
    return hashlib.sha256(json.dumps(given).encode()).hexdigest()[:32]


def _score(lm: HarnessModel, opened: OpenTask, limit: int | None, seed: int) -> Scores:
    """Run a task.

    This does what the harness's ``simple_evaluate`` does, without its list of all tasks and its description of the
    machine, which take a minute. Raises InputError for data that cannot be evaluated.
    """
    task, name = opened.task, opened.task.task_name
    if task.get_config("num_fewshot") is None:
        task.set_config(key="num_fewshot", value=0)
    task.set_fewshot_seed(seed=seed)
    before = lm.cut
    try:
        with silence(), torch.random.fork_rng():
            _seed_all(seed)
            found: Any = lm_eval.evaluate(lm, {"tasks": {name: task}, "groups": {}}, limit=limit, bootstrap_iters=1000)
        rows = make_rows(name, found["results"][name], found["samples"][name], opened.length)
    except Exception as error:  # for example a sample without a field, or with one of another type
        if isinstance(error, InputError) or is_memory_error(error):
            raise
        raise InputError(f"tasks={name}: cannot be evaluated: {format_error(error):.{SHOWN}}") from None
    return Scores(rows=rows, cut=lm.cut - before)


def _seed_all(seed: int) -> None:
    """Seed the generators that tasks of the harness use for their data and examples."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)


def _load(names: Sequence[str], metadata: dict[str, Any], seed: int) -> list[Any]:
    """Open the harness's task objects with their data. Raises InputError."""
    manager = _list_tasks(names, metadata)
    try:
        with torch.random.fork_rng():
            _seed_all(seed)
            return list(manager.load(list(names))["tasks"].values())
    except Exception as error:  # from the data, which may be anything, or from a missing package
        if isinstance(error, InputError) or is_memory_error(error):
            raise
        place = "; give task_data=FOLDER with a copy in FOLDER/OWNER/NAME" if isinstance(error, OSError) else ""
        raise InputError(f"tasks={', '.join(names)}: cannot be opened: {format_error(error):.{SHOWN}}{place}") from None


def _list_tasks(names: Sequence[str], metadata: dict[str, Any]) -> TaskManager:
    """Return the harness's smallest list of tasks that has all names. Raises InputError for an unknown name."""
    folder = Path(lm_eval.__path__[0], "tasks")
    manager = TaskManager(include_path=[folder / each for each in FOLDERS], include_defaults=False, metadata=metadata)
    if all(name in manager.all_tasks for name in names):
        return manager
    manager = TaskManager(metadata=metadata)
    if unknown := [name for name in names if name not in manager.all_tasks]:
        near = did_you_mean(unknown[0], manager.all_tasks)
        raise InputError(f"tasks={unknown[0]}: unknown{near}; must be a task or a group of lm_eval")
    return manager


def save_tokenizer(tokenizer: Any, folder: str) -> None:
    """Save a tokenizer for tasks that open it themselves, without references to code, which they would trust."""
    tokenizer.save_pretrained(folder)
    config = Path(folder) / "tokenizer_config.json"
    known = json.loads(config.read_text(encoding="utf-8"))
    known.pop("auto_map", None)
    config.write_text(json.dumps(known), encoding="utf-8")


def thousands(length: int) -> str:
    """Return a length as BABILong names it: ``4k``. Raises InputError."""
    if length % 1000 and length % 1024:
        raise InputError(f"lengths={length}: must be a multiple of 1000 or of 1024 for BABILong, as its 0k, 1k, 2k, 4k")
    return f"{length // (1024 if length % 1000 else 1000)}k"
