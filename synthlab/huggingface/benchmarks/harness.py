"""Benchmarks of long texts on a model: EleutherAI's tasks by name, and synthetic ones. Needs the extra ``evaluate``."""

import math
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pandas as pd
from torch import nn

from synthlab.config.argument_checks import check_arguments, shorten
from synthlab.errors import InputError, require
from synthlab.huggingface.benchmarks.data import DataSource, data_from
from synthlab.huggingface.benchmarks.score_cache import ScoreCache, Scored
from synthlab.huggingface.benchmarks.scores import COLUMNS, longbench_groups, make_rows
from synthlab.huggingface.benchmarks.synthetic import SYNTHETIC
from synthlab.huggingface.isolation import keep_random_state, silence
from synthlab.output import tell

RunTasks = Callable[[], pd.DataFrame]


@check_arguments
def evaluate_tasks(model: Any, tokenizer: Any, tasks: Sequence[str], **options: Any) -> pd.DataFrame:
    """Score a model on named tasks.

    Args:
        model: A causal model of Transformers. A run of the lab is one by
            ``synthlab.huggingface.bridge.to_huggingface``.
        tokenizer: Its tokenizer; ``synthlab.huggingface.tokenizer.byte_tokenizer()`` for a run of the lab.
        tasks: Names of ``synthlab.huggingface.benchmarks.synthetic.SYNTHETIC``, such as ``needle``, and of the
            harness's tasks and groups, such as ``longbench_e`` (here with all six groups), ``babilong_longctx`` or
            ``niah_single_1``.
        options: The options of ``prepared``.

    Returns:
        A table with the columns task, group, length, metric, value, stderr (over samples; NaN for metrics that are not
        means) and samples. Scores of LongBench-E have a row for each bin of lengths, and rows of the task
        ``longbench_e`` for groups and overall, if all their tasks are there.

    Raises:
        InputError: A task, length or depth is not available, data is missing or damaged, or tokenizer and model
            disagree.
    """
    with prepared(model, tokenizer, tasks, **options) as scores:
        return scores()


@check_arguments
@contextmanager
def prepared(
    model: Any,
    tokenizer: Any,
    tasks: Sequence[str],
    data: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    samples: int | None = None,
    seed: int = 0,
    lengths: Sequence[int] = (),
    depths: Sequence[float] = (),
    max_length: int | None = None,
    batch_size: int = 1,
    field: str = "data",
    cache: ScoreCache | None = None,
) -> Generator[RunTasks]:
    """Open tasks with their data, so that missing data raises an error before anything is computed.

    Args:
        model: As in ``evaluate_tasks``.
        tokenizer: As in ``evaluate_tasks``.
        tasks: As in ``evaluate_tasks``.
        data: A folder with the data sets of the harness's tasks (``synthlab.huggingface.benchmarks.data``); None for
            the hub.
        limit: The largest number of samples of each task; all by default.
        samples: The number of samples of synthetic tasks, which are unlimited; ``limit`` by default.
        seed: The seed of synthetic samples, and of the harness's random choices.
        lengths: Lengths in tokens of synthetic tasks, of RULER (4,096 by default), and of BABILong (in thousands; 0 by
            default).
        depths: The depths of the queried fact in synthetic tasks, from 0 to 1: a row for each. Random by default.
        max_length: The longest text that the model gets, in tokens; by default that of its config. Longer ones lose
            their beginning, and their number is printed on standard error.
        batch_size: The number of texts in a batch.
        field: The name of ``data`` in errors.
        cache: Where scores of each task are recorded and read by later calls; none by default.

    Returns:
        A context manager of a function that runs the tasks and returns the table of ``evaluate_tasks``.

    Raises:
        InputError: As ``evaluate_tasks`` raises it.
    """
    require("evaluate", "lm_eval", "transformers", what="tasks")
    if not isinstance(model, nn.Module) or getattr(model, "config", None) is None:
        raise InputError(f"model={shorten(model)}: must be a causal model of Transformers")
    if getattr(tokenizer, "vocab_size", None) is None:
        raise InputError(f"tokenizer={shorten(tokenizer)}: must be the model's tokenizer")
    made = [name for name in tasks if name in SYNTHETIC]
    named = [name for name in tasks if name not in SYNTHETIC]
    _check(tasks, made, limit, lengths, depths)
    count = min((each for each in (samples, limit) if each is not None), default=0)
    if made and count < 1:
        raise InputError(f"samples=null: must be the number of samples of {made[0]}, 1 or more; or give limit")
    source = DataSource.from_folder(data, field)
    from synthlab.huggingface.benchmarks.harness_model import HarnessModel
    from synthlab.huggingface.benchmarks.harness_tasks import make_synthetic_tasks
    from synthlab.huggingface.benchmarks.published import ReadyTask, Setting, load_published_tasks

    was_training = model.training
    with ExitStack() as until_the_end:
        until_the_end.callback(model.train, was_training)
        with silence(), keep_random_state():
            setting = Setting(HarnessModel(model, tokenizer, max_length, batch_size), seed, limit)
            encode = lambda text: tokenizer(text)["input_ids"]  # noqa: E731
            drawn = make_synthetic_tasks(made, lengths, depths, count, encode, seed)
            ready = [
                ReadyTask(label, task, partial(make_rows, name, group=group, length=str(length)))
                for label, (task, name, group, length) in drawn.items()
            ]
            if named:
                until_the_end.enter_context(data_from(source))
                ready += load_published_tasks(named, source, tokenizer, lengths, seed)
        yield partial(_scores, setting, ready, cache)


def _scores(setting: Any, ready: Sequence[Any], cache: ScoreCache | None) -> pd.DataFrame:
    """Return the table of opened tasks; run those that are not recorded. Raises OSError."""
    lm, found = setting.lm, dict[int, Scored]()
    keys = [
        None if cache is None else cache.identity(label, task, setting.limit, setting.seed, lm.max_length)
        for label, task, _ in ready
    ]
    for i, key in enumerate(keys):
        if cache is not None and key is not None and (scored := cache.read(key)) is not None:
            found[i] = scored
    samples = sum(min(len(each.task.eval_docs), setting.limit or math.inf) for each in ready)
    recorded = f"; {len(found)} of {len(ready)} are recorded" if found else ""
    tell(f"tasks: {len(ready)}, of {samples:,} samples{recorded}")
    for i, (key, each) in enumerate(zip(keys, ready, strict=True)):
        if i not in found:
            tell(f"task {i + 1} of {len(ready)}: {each.label}")
            found[i] = _score(setting, each)
            if cache is not None and key is not None:
                cache.write(key, found[i])
    if cut := sum(each.cut for each in found.values()):
        requests = sum(each.requests for each in found.values())
        tell(f"{cut} of {requests} texts were longer than max_length={lm.max_length} and lost their beginning")
    made = [row for i in range(len(ready)) for row in found[i].rows]
    return pd.DataFrame([*made, *longbench_groups(pd.DataFrame(made, columns=COLUMNS))], columns=COLUMNS)


def _score(setting: Any, ready: Any) -> Scored:
    """Run a task."""
    from synthlab.huggingface.benchmarks.published import run_task

    lm = setting.lm
    lm.requests = lm.cut = 0
    with silence(), keep_random_state():
        out = run_task(setting, ready.task)
    name = ready.task.task_name
    return Scored(rows=ready.rows(out["samples"][name], out["results"][name]), requests=lm.requests, cut=lm.cut)


def _check(
    tasks: Sequence[str], made: Sequence[str], limit: int | None, lengths: Sequence[int], depths: Sequence[float]
) -> None:
    if not tasks:
        raise InputError(f"tasks=[]: must have a task, such as {', '.join(SYNTHETIC)} or longbench_e")
    if limit is not None and limit < 1:
        raise InputError(f"limit={limit}: must be 1 or more, or null for all samples")
    if made and not lengths:
        raise InputError(f"lengths=[]: must have a number of tokens for {made[0]}, such as 256")
    if depths and len(made) < len(tasks):
        raise InputError(f"depths={list(depths)}: applies only to the tasks {', '.join(SYNTHETIC)}")
    if repeated := sorted({task for task in tasks if list(tasks).count(task) > 1}):
        raise InputError(f"tasks={repeated[0]}: must be named once")
