"""Trained models in Python: train one and save it, or open that of a record."""

import os
from typing import Any

from synthlab.config.argument_checks import check_arguments, shorten
from synthlab.config.registry import show
from synthlab.errors import InputError
from synthlab.storage.records import Record
from synthlab.storage.store import IDENTITY, Store
from synthlab.sweeps.from_python import run
from synthlab.training.trained import TrainedModel


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
    refused = []
    if "seeds" in settings:
        refused.append(f"seeds={show(settings['seeds'])}: one model has one; give seed")
    if settings.setdefault("save", "weights") is None:
        refused.append("save=null: the weights are always kept; leave it out")
    if refused:
        raise InputError(*refused)
    (record,) = run(**settings)
    return record.model()


@check_arguments
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
        if not isinstance(record, str) or not IDENTITY.fullmatch(record):
            raise InputError(f"record={shorten(record)}: must be a record, or the identity of one: 16 digits, 0 to f")
        record = Store(results).read(record)
    # A warning names the line that called this function, as in Record.model.
    return record.config.family.open_model(record, step)
