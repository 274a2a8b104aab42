"""Shields of the process: logs and prints of other libraries held back, random numbers restored."""

import io
import logging
import random
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout

import numpy as np
import torch


@contextmanager
def silence() -> Generator[None]:
    """Hold back what other libraries log, warn of in imports, and print to standard output; their progress bars, too,
    where standard error is no terminal."""
    loggers = [logging.getLogger(name) for name in ("lm_eval", "datasets", "transformers", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        shows_bars = sys.stderr is not None and sys.stderr.isatty()
        bars = nullcontext() if shows_bars else redirect_stderr(io.StringIO())
        with redirect_stdout(io.StringIO()), bars, warnings.catch_warnings():
            for kind in (SyntaxWarning, DeprecationWarning):
                warnings.simplefilter("ignore", kind)
            warnings.filterwarnings("ignore", module="fuzzywuzzy")  # that it compares strings slowly
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def keep_random_state() -> Generator[None]:
    """Restore the generators that all code of a process shares, which the harness seeds."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - the one that the harness seeds
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
