"""Sequence tasks: the time to draw their examples against the time to train on them."""

from collections.abc import Callable
from typing import Any, cast

import torch

from experiments.bench.plain_loop import make_lab_step
from experiments.bench.probes import repeat_seeds, seconds_a_call
from synthlab.runs.composition import compose
from synthlab.runs.run import resolve
from synthlab.sequences.objective import STEPS, draw_batches
from synthlab.sequences.run import SequencesRun
from synthlab.sequences.tasks import TASKS
from synthlab.training.ensembles import ensemble_size


def drawing_share(seconds: float, *overrides: str) -> float:
    """Return the time to draw the examples of a step, divided by that of the rest of the step, on one thread.

    Each is timed for about ``seconds``, over as many steps as are drawn at once, with as many runs as an ensemble has.
    """
    torch.set_num_threads(1)
    first = cast(SequencesRun, resolve(compose(list(overrides))))
    configs = repeat_seeds(first, ensemble_size(first))
    batches, step = draw_batches(first), make_lab_step(configs)

    def take(call: Callable[[], Any]) -> float:
        return seconds_a_call(lambda: [call() for _ in range(STEPS)], seconds)

    drawing, whole = len(configs) * take(lambda: next(batches)), take(step)
    return drawing / (whole - drawing)


def every_drawing_share(seconds: float) -> dict[str, float]:
    """Return the share of every task with the settings of ``conf/task/``."""
    return {name: drawing_share(seconds, f"task={name}") for name in TASKS}
