"""synthlab: a laboratory for length generalization.

``run`` trains models (or reads what is recorded) and returns ``Records``; ``load_records`` reads all as one table.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synthlab.analysis.record_list import Records as Records
    from synthlab.analysis.record_list import load_records as load_records
    from synthlab.errors import InputError as InputError
    from synthlab.errors import RunsFailed as RunsFailed
    from synthlab.storage.records import Record as Record
    from synthlab.sweeps.sweep import run as run  # pyright: ignore[reportUnknownVariableType]  # os.PathLike, of what?

# Imported on first use: tab completion and --help then do without torch, which takes a second or more to import.
_HOMES = {
    "InputError": "errors",
    "RunsFailed": "errors",
    "Record": "storage.records",
    "Records": "analysis.record_list",
    "load_records": "analysis.record_list",
    "run": "sweeps.sweep",
}
__all__ = ["InputError", "Record", "Records", "RunsFailed", "load_records", "run"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
