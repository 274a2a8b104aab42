"""synthlab: a laboratory for length generalization.

``run`` trains models (or reads recorded runs) and returns ``Records``; ``load_records`` reads all as one table.
``train`` returns the trained model itself, and ``load_model`` that of a record. Your own classes subclass ``Encoding``,
``OutRep``, ``LearnedOutRep``, ``NumberTask``, ``InputDistribution`` or ``Tracker``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from synthlab import families as families  # each registers the class of its runs

if TYPE_CHECKING:
    from synthlab.api import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Import ``synthlab.api`` on first use: completion and ``--help`` do without torch, which takes seconds."""
    if name.startswith("__") and name != "__all__":
        raise AttributeError(name)
    return getattr(import_module("synthlab.api"), name)


def __dir__() -> list[str]:
    return sorted(import_module("synthlab.api").__all__)
