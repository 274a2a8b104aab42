"""The face of the library: all that ``import synthlab`` offers."""

import os
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

from synthlab.analysis.record_list import Records, load_records
from synthlab.errors import InputError, RunsFailed
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.numbers.outrep import Interval, LearnedOutRep, OutRep
from synthlab.numbers.tasks import InputDistribution, NumberTask
from synthlab.runs.composition import Composer
from synthlab.runs.registry import show
from synthlab.runs.run import resolve
from synthlab.storage.records import Record
from synthlab.storage.store import Store
from synthlab.sweeps.sweep import ensure
from synthlab.sweeps.trackers import Tracker, tracker_of
from synthlab.training.trained import Prediction, TrainedModel

__all__ = [
    "Dims",
    "Encoding",
    "InputDistribution",
    "InputError",
    "Interval",
    "LearnedOutRep",
    "NumberTask",
    "OutRep",
    "Prediction",
    "Record",
    "Records",
    "RunsFailed",
    "Tracker",
    "TrainedModel",
    "load_model",
    "load_records",
    "run",
    "train",
]


def run(
    seeds: int | Iterable[int] | None = None,
    results: str | os.PathLike[str] = "results",
    workers: int | None = 1,
    progress: bool = True,
    device: str = "cpu",
    retry: str = "failed",
    save: str | Sequence[int] | None = None,
    tag: str | None = None,
    **settings: Any,
) -> Records:
    """Train one model for each seed, unless it is recorded, and return the records.

    Args:
        seeds: The number of seeds, counted from 0, or the seeds themselves; None for the one of ``seed``. A seed that
            is set separately, such as ``test_seed=7``, is the same for all.
        results: The folder of the records, or the address of an object store.
        workers: The number of parallel processes, one thread each; None for one for each core that the process may use.
            Results do not depend on it, and a script needs no ``__main__`` guard for it.
        progress: True to show a progress line.
        device: ``cpu``, ``cuda`` or ``auto`` (cuda if available); numbers differ by rounding.
        retry: ``failed`` to retry runs that failed before, ``none`` to skip them.
        save: ``weights`` to save the weights of each trained model, for ``Record.model``. ``checkpoints`` to save also
            those after the first, second, fourth, eighth, ... point of the training curve. Steps, such as ``[100,
            1000]``, to save also those after these points of the curve. A run that is recorded without them is trained
            again, and must give the same numbers. None saves no weights.
        tag: A name for the runs, such as ``pilot``, by which ``load_records(where="tag=pilot")`` finds them. It is not
            part of a run's identity: a recorded run is tagged, not trained again, and can have several tags.
        **settings: The config's keys, as on the command line: ``task="length"``, ``model={"width": 64}``,
            ``train_length=20``. A dotted key is given as ``**{"model.width": 64}``.

    Returns:
        A record for each seed, in the order of the seeds.

    Raises:
        InputError: A setting, the folder or the device is invalid; nothing has been trained.
        RunsFailed: A run raised an error, or its record cannot be saved: the disk is full, or, with ``save``, a run
            that is trained again gives other numbers than recorded. All other runs are recorded.

    Example:
        >>> import synthlab
        >>> short = {"steps": 2, "batch": 4, "record_every": 1}  # 2 training steps, to be quick
        >>> records = synthlab.run(task="length", encoding="nope", seeds=2, protocol=short, progress=False)
        >>> [(record.config.seed, record.status) for record in records]
        [(0, 'finished'), (1, 'finished')]
        >>> synthlab.run(train_length=0)
        Traceback (most recent call last):
        ...
        synthlab.errors.InputError: train_length=0: must be greater than 0
    """
    if seeds is not None and "seed" in settings:
        raise InputError(f"seeds={show(seeds)}: give either seed or seeds")
    raw = Composer().compose(settings)
    config, store = resolve(raw), Store(results, save, tag)
    configs = [config]
    if seeds is not None:
        config.check_depends_on_seed(raw, f"seeds={show(seeds)}")
        configs = [config.with_seeds(raw | {"seed": seed}) for seed in _list_seeds(seeds)]
    return ensure(configs, store, workers, progress, device, tracker_of(raw["tracker"], store.tag), retry)


def _list_seeds(seeds: Any) -> list[int]:
    """Return the seeds that a number of seeds, or the seeds themselves, stand for."""
    try:
        chosen = [index(seed) for seed in (seeds if isinstance(seeds, Iterable) else range(index(seeds)))]
    except TypeError:
        chosen = []
    if not chosen:
        raise InputError(f"seeds={show(seeds)}: must be a number of seeds, 1 or more, or a list of whole numbers")
    return chosen


def train(**settings: Any) -> TrainedModel:
    """Train one model and return it, or open it if it is recorded.

    It is ``synthlab.run`` with ``save="weights"``, unless ``save`` asks for checkpoints too. It writes the record with
    the weights below ``results``, so that the same call again trains nothing.

    Args:
        **settings: Those of ``synthlab.run``, except ``seeds``: the keys of a run, such as ``task="length"`` and
            ``seed=3``, and ``results``, ``progress``, ``device``, ``retry``, ``save`` and ``tag``.

    Returns:
        The trained model, with its record (``model.record``).

    Raises:
        InputError: As ``synthlab.run`` raises it; or the run diverged.
        RunsFailed: The run raised an error.

    Example:
        >>> import synthlab
        >>> short = {"steps": 2, "batch": 4, "record_every": 1}  # 2 training steps, to be quick
        >>> model = synthlab.train(task="length", outrep="rsqrt", protocol=short, progress=False)
        >>> model.record.config.seed, model.predict(["0110", "1"]).answer.shape
        (0, torch.Size([2]))
        >>> again = synthlab.load_model(model.record.config.id)
        >>> bool((again.predict(["0110"]).answer == model.predict(["0110"]).answer).all())
        True
    """
    if "seeds" in settings:
        raise InputError(f"seeds={show(settings['seeds'])}: one model has one; give seed")
    settings["save"] = settings.get("save") or "weights"
    (record,) = run(**settings)
    return record.model()


def load_model(
    record: Record | str, results: str | os.PathLike[str] = "results", step: int | None = None
) -> TrainedModel:
    """Open the trained model of a record: loaded if its weights were saved, else trained again.

    Args:
        record: A record, or its identity: ``id`` in tables, and the last part of the path that ``synthlab run`` prints.
        results: The folder of the records, or the address of an object store.
        step: A step of the training curve, for the model as it was then. ``list(record.weights)`` lists the steps whose
            weights were saved; for any other point the model is trained again up to there. A run with an extension has
            two trainings: steps count from the start of the first, and only points of the second can be opened. None:
            after the last step.

    Returns:
        The trained model, with its record (``model.record``) and its step (``model.step``).

    Raises:
        InputError: There is no such record, or it is damaged, of another results version, or of a run that diverged; or
            its weights are damaged, or not those of this run; or ``step`` is no such point. Also if it names a class of
            your own whose module is not imported, since nothing in a record is imported or run: import the module
            first.

    Warns:
        UserWarning: The model was trained again, on another machine than the record's: its training curve differs.

    Example:
        >>> import synthlab
        >>> short = {"steps": 2, "batch": 4, "record_every": 1}  # 2 training steps, to be quick
        >>> (record,) = synthlab.run(task="mean", protocol=short, progress=False)  # without save="weights"
        >>> model = synthlab.load_model(record.config.id)  # trained again
        >>> type(model.module).__name__, len(model.predict(["0110"]).answer)
        ('Transformer', 1)
        >>> synthlab.load_model(record, step=1).step  # as it was after one step of training
        1
    """
    if not isinstance(record, Record):
        record = Store(results).read(record)
    # A warning names the line that called this function, as in Record.model.
    return record.config.load_family().open_model(record, step)
