"""Retraining of models whose weights were not saved."""

import warnings

from synthlab.errors import InputError
from synthlab.storage.records import Record
from synthlab.training.devices import use_one_thread
from synthlab.training.execution import curve, initialize
from synthlab.training.loop import Training
from synthlab.training.weights import weights_file


class _Reached(Exception):
    """Raised to end training at the step whose weights are needed."""


def train_again(record: Record, step: int) -> bytes:
    """Return the file of the weights after ``step`` of a record that has none, by training again.

    Warns if the training curve differs from the recorded one.
    """
    config, training = record.config, Training([], [], None)
    ensemble, seen = initialize([config]), training

    def observe(now: int, losses: list[float]) -> None:
        seen.steps.append(now)
        seen.losses.append(losses[0])
        if now == step < config.steps:
            raise _Reached

    try:
        with use_one_thread():
            (training,) = config.load_family().train_models(ensemble, [config], observe)
    except _Reached:
        pass
    else:
        if step < config.steps:
            raise InputError(f"record {config.id}: trained again, the run does not reach step {step}")
    recorded = record.training[record.training["step"] <= step].reset_index(drop=True)
    if not curve(training).equals(recorded):
        warnings.warn(
            f"record {config.id}: trained again, the model has another training curve than recorded; the record may be "
            f"of another machine or version of torch",
            stacklevel=6,  # the caller of Record.model or load_model, each of which calls open_model
        )
    return weights_file(ensemble, 0, 1)
