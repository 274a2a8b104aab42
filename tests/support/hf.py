"""The modules of synthlab.huggingface, and Transformers, imported when a test first asks for one: they take
seconds."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return importlib.import_module(name if name == "transformers" else f"synthlab.huggingface.{name}")
