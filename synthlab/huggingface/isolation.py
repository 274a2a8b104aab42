"""Protection of the process from other libraries: their logs and prints are suppressed, random state is restored."""

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
    """Suppress what other libraries log, warn of in imports, and print to standard output.

    Their progress bars are suppressed too if standard error is no terminal.
    """
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
            warnings.filterwarnings("ignore", module="fuzzywuzzy")  # its warning that it compares strings slowly
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def keep_random_state() -> Generator[None]:
    """Restore the process-wide random generators, which the harness seeds."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - the one that the harness seeds
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
