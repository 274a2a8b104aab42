"""The cost of a training step with the regularizer and without, measured on this machine."""

import time
from collections.abc import Callable
from statistics import median

import pandas as pd

from synthlab.language.objective import WindowLoss
from synthlab.language.run import LanguageRun
from synthlab.language.training import build_models
from synthlab.training.devices import use_one_thread
from synthlab.training.loop import train_ensemble

# The kinds of steps: windows of each text, and alpha. One window is the plain step; the paper compares with two.
STEPS = {"one window": (1, 0.0), "two windows": (2, 0.0), "two windows and the regularizer": (2, 0.1)}
ROUNDS, EACH = 7, 5  # rounds that alternate all kinds, so that a slowdown of the machine affects all; steps in one


def step_costs(config: LanguageRun) -> pd.DataFrame:
    """Return the seconds a step of the model that ``config`` describes, on one thread: a row for each kind of step.

    It has the median over rounds of its ratio to a step with one window and to one with two.
    """
    runs = {
        name: config.model_copy(
            update={"alignment": config.alignment.model_copy(update={"windows": windows, "alpha": alpha})}
        )
        for name, (windows, alpha) in STEPS.items()
    }
    with use_one_thread():
        steps = {name: _make_timer(run) for name, run in runs.items()}
        every = [{name: seconds() for name, seconds in steps.items()} for _ in range(1 + ROUNDS)]
    rounds = pd.DataFrame(every[1:])  # the first is a warm-up
    one, two, _ = STEPS
    return pd.DataFrame(
        {
            "step": name,
            "milliseconds": 1e3 * rounds[name].median() / EACH,
            "to_one_window": median(rounds[name] / rounds[one]),
            "to_two_windows": median(rounds[name] / rounds[two]),
        }
        for name in STEPS
    )


def _make_timer(config: LanguageRun) -> Callable[[], float]:
    """Return a function that trains a new model for a few steps and returns their seconds."""
    stack = build_models([config])
    objective = WindowLoss(stack, [config])
    protocol = config.protocol.model_copy(update={"steps": EACH, "record_every": EACH})

    def seconds() -> float:
        started = time.perf_counter()
        train_ensemble(stack.parameters(), objective, [protocol])
        return time.perf_counter() - started

    return seconds
