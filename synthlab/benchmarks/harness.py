"""Benchmarks of long texts on a model: EleutherAI's tasks by name, and those that are made here. Needs the extra
``evaluate``."""

import os
from collections.abc import Sequence
from typing import Any

import pandas as pd

from synthlab.benchmarks.made import MADE
from synthlab.benchmarks.scores import COLUMNS, Rows, longbench_groups, rows
from synthlab.benchmarks.surroundings import own_random_numbers, quiet
from synthlab.errors import InputError, require
from synthlab.output import tell

SAMPLES = 100  # of a task that is made here, unless ``limit`` says otherwise


def evaluate_tasks(
    model: Any,
    tokenizer: Any,
    tasks: Sequence[str],
    data: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    seed: int = 0,
    lengths: Sequence[int] = (),
    depths: Sequence[float] = (),
    max_length: int | None = None,
    batch_size: int = 1,
) -> pd.DataFrame:
    """Scores of a model on named tasks.

    Args:
        model: A causal model of Transformers. A run of the lab is one by
            ``synthlab.language.huggingface.to_huggingface``.
        tokenizer: Its tokenizer; ``synthlab.language.tokenizer.byte_tokenizer()`` for a run of the lab.
        tasks: Names of ``synthlab.benchmarks.made.MADE``, such as ``needle``, and of the harness's tasks and groups,
            such as ``longbench_e``, which has all its six groups here, ``babilong_longctx`` or ``niah_single_1``.
        data: A folder with the data sets of the harness's tasks (``synthlab.benchmarks.data``); None for the hub.
        limit: The number of samples of each task; all unless given, and 100 of those made here.
        seed: The seed of the samples made here, and of all that the harness draws.
        lengths: Lengths in tokens of the tasks made here, of RULER (4,096 unless given), and of BABILong (in thousands;
            0 unless given).
        depths: Where the asked fact stands, from 0 to 1, for tasks made here: a row for each. Anywhere unless given.
        max_length: The longest text that the model gets, in tokens; what its config says unless given. Longer ones lose
            their beginning, and their number is told on standard error.
        batch_size: Texts at once.

    Returns:
        A table with the columns task, group, length, metric, value, stderr (over samples; NaN for metrics that are no
        means) and samples. Scores of LongBench-E have a row for each bin of lengths, and rows of the task
        ``longbench_e`` for groups and overall, if all their tasks are there.

    Raises:
        InputError: A task, length or depth cannot be had, data is missing, or tokenizer and model disagree.
    """
    require("evaluate", "lm_eval", "transformers", what="tasks")
    made = [name for name in tasks if name in MADE]
    _check(tasks, made, limit, lengths, depths)
    from synthlab.benchmarks.harness_model import HarnessModel
    from synthlab.benchmarks.harness_tasks import made_tasks
    from synthlab.benchmarks.named import Setting, named_rows, run

    was_training = model.training
    found: Rows = []
    with quiet(), own_random_numbers():
        lm = HarnessModel(model, tokenizer, max_length, batch_size)
        setting = Setting(lm, seed, limit)
        try:
            if made:
                encode = lambda text: tokenizer(text)["input_ids"]  # noqa: E731
                drawn = made_tasks(made, lengths, depths, limit or SAMPLES, encode, seed)
                out = run(setting, [task for task, *_ in drawn.values()])
                for label, (_, name, group, length) in drawn.items():
                    found += rows(name, out["samples"][label], out["results"][label], group, str(length))
            if len(made) < len(tasks):
                named = [name for name in tasks if name not in made]
                found += named_rows(setting, named, data, tokenizer, lengths)
        finally:
            model.train(was_training)
    if lm.cut:
        tell(f"{lm.cut} of {lm.requests} texts were longer than max_length={lm.max_length} and lost their beginning")
    return pd.DataFrame([*found, *longbench_groups(pd.DataFrame(found, columns=COLUMNS))], columns=COLUMNS)


def _check(
    tasks: Sequence[str], made: Sequence[str], limit: int | None, lengths: Sequence[int], depths: Sequence[float]
) -> None:
    if not tasks:
        raise InputError(f"tasks=[]: must have a task, such as {', '.join(MADE)} or longbench_e")
    if limit is not None and limit < 1:
        raise InputError(f"limit={limit}: must be 1 or more, or null for all samples")
    if made and not lengths:
        raise InputError(f"lengths=[]: must have a number of tokens for {made[0]}, such as 256")
    if depths and len(made) < len(tasks):
        raise InputError(f"depths={list(depths)}: must be left out, but for the tasks {', '.join(MADE)}")
    if repeated := sorted({task for task in tasks if list(tasks).count(task) > 1}):
        raise InputError(f"tasks={repeated[0]}: must be named once")
