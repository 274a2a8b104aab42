"""The papers: each folder of ``experiments/`` with a ``paper.py``, which has a ``PAPER``."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synthlab.studies.study import Paper


def papers() -> dict[str, Callable[[], "Paper"]]:
    """Return functions that import each paper, by name."""
    found = sorted(path.parent.name for path in Path(__file__).parent.glob("*/paper.py"))
    return {name: lambda name=name: import_module(f"experiments.{name}.paper").PAPER for name in found}


def atlas() -> "Paper":
    """Return the atlas, which has the form of a paper and is none: it has a table in place of claims."""
    return import_module("experiments.atlas.study").ATLAS
