"""synthlab: a laboratory for length generalization.

``run`` trains models (or reads recorded runs) and returns ``Records``; ``load_records`` reads all as one table.
``train`` returns the trained model itself, and ``load_model`` that of a record. Your own classes subclass ``Encoding``,
``OutRep``, ``LearnedOutRep``, ``Task``, ``InputDistribution`` or ``Tracker``.
"""

from typing import TYPE_CHECKING, Any

from synthlab import families as families  # each registers the class of its runs

if TYPE_CHECKING:
    from synthlab.analysis.record_list import Records as Records
    from synthlab.analysis.record_list import load_records as load_records
    from synthlab.errors import InputError as InputError
    from synthlab.errors import RunsFailed as RunsFailed
    from synthlab.models.encodings.base import Dims as Dims
    from synthlab.models.encodings.base import Encoding as Encoding
    from synthlab.regression.inputs import InputDistribution as InputDistribution
    from synthlab.regression.outrep import Interval as Interval
    from synthlab.regression.outrep import LearnedOutRep as LearnedOutRep
    from synthlab.regression.outrep import OutRep as OutRep
    from synthlab.regression.tasks import Task as Task
    from synthlab.storage.records import Record as Record
    from synthlab.sweeps.from_python import run as run
    from synthlab.sweeps.trackers import Tracker as Tracker
    from synthlab.sweeps.train_and_load import load_model as load_model
    from synthlab.sweeps.train_and_load import train as train
    from synthlab.training.trained import Prediction as Prediction
    from synthlab.training.trained import TrainedModel as TrainedModel

# Imported on first use: tab completion and --help then do without torch, which takes a second or more to import.
_HOMES = {
    "Dims": "models.encodings.base",
    "Encoding": "models.encodings.base",
    "InputDistribution": "regression.inputs",
    "InputError": "errors",
    "Interval": "regression.outrep",
    "LearnedOutRep": "regression.outrep",
    "OutRep": "regression.outrep",
    "Prediction": "training.trained",
    "Record": "storage.records",
    "Records": "analysis.record_list",
    "RunsFailed": "errors",
    "Task": "regression.tasks",
    "Tracker": "sweeps.trackers",
    "TrainedModel": "training.trained",
    "load_model": "sweeps.train_and_load",
    "load_records": "analysis.record_list",
    "run": "sweeps.from_python",
    "train": "sweeps.train_and_load",
}
__all__ = [*_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
