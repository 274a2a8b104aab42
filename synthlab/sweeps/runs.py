"""Training and recording of the runs of an ensemble, except those that are already recorded."""

import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from traceback import walk_tb
from typing import TypeVar

from synthlab.config.base import Config
from synthlab.config.registry import find_changed
from synthlab.errors import InputError, StoreError
from synthlab.storage.leases import Held, Leases
from synthlab.storage.records import Failure
from synthlab.storage.store import Store
from synthlab.sweeps.trackers import Tracker, Tracks
from synthlab.training.execution import environment, execute_together, split_inexact

Each = TypeVar("Each")


def train_and_record(
    configs: Sequence[Config], store: Store, device: str = "cpu", tracker: Tracker | None = None
) -> None:
    """Train and record those runs of an ensemble that no other process trains or has trained.

    If the ensemble raises an error, each run is trained again alone, and those that raise it alone are recorded as
    failed.
    """
    with store.catch_write_errors(), Leases(store.files).hold(config.id for config in configs) as held:
        leased = [config for config in configs if config.id in held.numbers]
        mine = [config for config in leased if not store.holds(config) and not store.has_failed(config)]
        for part in split_inexact(mine, device):
            _train(part, store, device, tracker, held)


def _train(configs: list[Config], store: Store, device: str, tracker: Tracker | None, held: Held) -> None:
    try:
        _check_sources(configs)
        with Tracks(tracker, configs) if tracker else nullcontext() as tracks:

            def observe(step: int, losses: list[float]) -> None:
                held.share = step / configs[0].steps
                if tracks:
                    tracks.observe(step, losses)

            records = execute_together(configs, observe, device, store.steps(configs[0]))
            _for_each(records, store.write)
            if tracks:
                tracks.end(records)
    except (StoreError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a model, a map or a task of the user may raise anything
        if _is_schedulers(error):
            raise
        if len(configs) == 1:
            store.write_failure(Failure.from_error(configs[0], error, environment(device)))
        else:
            _for_each(configs, lambda config: _train([config], store, device, tracker, held))


def _check_sources(configs: Iterable[Config]) -> None:
    """Raise InputError for a class of the user that was edited between the start of the sweep and this training."""

    def find() -> list[str]:
        return sorted({each for config in configs for each in find_changed(config.model_dump())})

    # A worker that an earlier sweep has left may have imported an earlier source.
    for name in {each.partition("=")[2].partition(":")[0] for each in find()}:
        importlib.reload(sys.modules[name])
    changed = find()
    if changed:
        raise InputError(*(f"{each}: its source changed during the sweep; give the command again" for each in changed))


def _for_each(things: Iterable[Each], do: Callable[[Each], None]) -> None:
    """Call ``do`` with each, and raise the first StoreError only at the end, so that each run is recorded."""
    refused = []
    for thing in things:
        try:
            do(thing)
        except StoreError as error:
            refused.append(error)
    if refused:
        raise refused[0]


def _is_schedulers(error: BaseException) -> bool:
    """Return True for an exception by which submitit ends a job whose time is up."""
    frames = walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__", "").startswith("submitit") for frame, _ in frames)
