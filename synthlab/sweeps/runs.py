"""Train the runs of an ensemble and record them; skip what is already recorded."""

from collections.abc import Callable, Iterable, Sequence
from traceback import walk_tb
from typing import TypeVar

from synthlab.config.base import Config
from synthlab.errors import StoreError
from synthlab.storage.leases import Held, Leases
from synthlab.storage.records import Failure
from synthlab.storage.store import Store
from synthlab.sweeps.trackers import Followed, tracker_of
from synthlab.training.exactness import split_inexact
from synthlab.training.execution import environment, execute_together

Each = TypeVar("Each")
UNTRACKED = tracker_of({"name": "none"})


def train_and_record(
    configs: Sequence[Config], store: Store, device: str = "cpu", tracker: Followed = UNTRACKED
) -> None:
    """Train those runs of an ensemble that no other process trains or has trained, and record them. If the ensemble
    raises an error, each run is trained again alone, and those that raise it alone are recorded as failed."""
    with store.catch_write_errors(), Leases(store.files).hold(config.id for config in configs) as held:
        leased = [config for config in configs if config.id in held.numbers]
        mine = [config for config in leased if not store.holds(config) and not store.has_failed(config)]
        for part in split_inexact(mine, device):
            _train(part, store, device, tracker, held)


def _train(configs: list[Config], store: Store, device: str, tracker: Followed, held: Held) -> None:
    try:
        with tracker.follow(configs) as tracks:

            def observe(step: int, losses: list[float]) -> None:
                held.share = step / configs[0].steps
                tracks.observe(step, losses)

            records = execute_together(configs, observe, device, store.steps(configs[0]))
            _for_each(records, store.write)
            tracks.end(records)
    except (StoreError, KeyboardInterrupt):
        raise
    except BaseException as error:  # whatever a model, a map or a task of the user's own may raise
        if _is_schedulers(error):
            raise
        if len(configs) == 1:
            store.write_failure(Failure.from_error(configs[0], error, environment(device)))
        else:
            _for_each(configs, lambda config: _train([config], store, device, tracker, held))


def _for_each(things: Iterable[Each], do: Callable[[Each], None]) -> None:
    """Do something with each, and only then raise the first StoreError: one run costs no other its record."""
    refused = []
    for thing in things:
        try:
            do(thing)
        except StoreError as error:
            refused.append(error)
    if refused:
        raise refused[0]


def _is_schedulers(error: BaseException) -> bool:
    """Whether submitit raised it, in the midst of whatever its job was doing: its time is up."""
    frames = walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__", "").startswith("submitit") for frame, _ in frames)
