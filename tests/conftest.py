"""Shared by all tests: shape annotations are checked, one thread, small configs."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

from pathlib import Path

from jaxtyping import install_import_hook

ROOT = Path(__file__).parents[1]
# The modules whose signatures state shapes. The types in all others are checked without running them, by make lint.
SHAPED = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in ("synthlab", "experiments/long_short_alignment", "experiments/sequences")
    for path in (ROOT / package).rglob("*.py")
    if "from jaxtyping" in path.read_text()
]
# Before anything of them is imported: every annotated function then checks shapes and types when it runs.
install_import_hook(SHAPED, "beartype.beartype")

import copy
import importlib
import sys
from collections.abc import Callable
from functools import wraps
from typing import NamedTuple

from synthlab.runs import composition, conf_files


def remember(compose: Callable[..., dict]) -> Callable[..., dict]:
    """Have ``compose`` answer from memory what it was asked before, which saves 0.15 s each; not where folders of a
    user's own are searched, whose files come and go."""
    kept = {}

    @wraps(compose)
    def remembered(overrides: list[str] = (), *given: object, **how: object) -> dict:
        asked = (*overrides, *given, *how.items())
        if conf_files.user_folders or any(each.startswith("hydra.searchpath=") for each in overrides):
            return compose(overrides, *given, **how)
        if asked not in kept:
            kept[asked] = compose(overrides, *given, **how)
        return copy.deepcopy(kept[asked])

    return remembered


composition.compose = remember(composition.compose)  # before it is imported by name

import matplotlib as mpl
import pytest
import torch
from hypothesis import settings

from support.configs import QUICK

mpl.use("agg")
torch.set_num_threads(1)
# The same examples each time, however slow the machine.
settings.register_profile("lab", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("lab")


# What a test calls by these names, each a module with a function main.
PROGRAMS = {name: f"{name}.__main__" for name in ("synthlab", "experiments", "theory", "classroom")}
PROGRAMS |= {"collect": "synthlab.collect", "compare": "synthlab.compare", "show": "synthlab.cli.show"}
PROGRAMS |= {"figures": "experiments.output_alignment.__main__"}


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def invoke(monkeypatch, capsys) -> Callable[..., Outcome]:
    """Call a command line in this process: ``invoke("synthlab", "task=mean", ...)``."""

    def call(program: str, *arguments: str) -> Outcome:
        from hydra.core.global_hydra import GlobalHydra
        from hydra.core.hydra_config import HydraConfig

        GlobalHydra.instance().clear()
        HydraConfig.instance().cfg = None
        monkeypatch.setattr(sys, "argv", [program, *arguments])
        with pytest.raises(SystemExit) as left:
            importlib.import_module(PROGRAMS[program]).main()
        captured = capsys.readouterr()
        return Outcome(left.value.code or 0, captured.out, captured.err)

    return call


@pytest.fixture
def quick(tmp_path) -> list[str]:
    """Overrides that make runs take milliseconds, in this process, and keep them in a folder of their own."""
    from synthlab.runs.composition import to_overrides

    return [*to_overrides(QUICK), f"results={tmp_path}", "workers=1"]
