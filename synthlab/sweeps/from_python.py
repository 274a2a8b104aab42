"""``synthlab.run``: runs from a script or a notebook."""

import os
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, cast

from synthlab.analysis.record_list import Records
from synthlab.config.argument_checks import check_arguments, read_list, shorten
from synthlab.config.base import resolve
from synthlab.config.composition import compose, to_overrides
from synthlab.config.registry import show
from synthlab.errors import InputError
from synthlab.storage.store import Store
from synthlab.sweeps.sweep import ensure
from synthlab.sweeps.sweep_grid import MOST
from synthlab.sweeps.trackers import tracker_of

OF_LAUNCHERS = ("launcher", "hydra/launcher", "hydra")  # keys that configure the jobs of a sweep


@check_arguments
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
        raise InputError(f"seeds={shorten(seeds)}: give either seed or seeds")
    launchers = {key: value for key, value in settings.items() if key.split(".")[0] in OF_LAUNCHERS}
    if launchers:
        why = "only sweeps on the command line have launchers; leave it out"
        raise InputError(*(f"{key}={show(value)}: {why}" for key, value in launchers.items()))
    raw = compose(list(to_overrides(settings)))
    config, store = resolve(raw), Store(results, save, tag)
    tracker = tracker_of(raw["tracker"], store.tag)
    if seeds is not None:
        config.check_follows(raw, f"seeds={shorten(seeds)}")
    configs = [config] if seeds is None else [config.with_seeds(raw | {"seed": seed}) for seed in _seeds(seeds)]
    return ensure(configs, store, workers, progress, device, tracker, retry)


def _seeds(seeds: int | Iterable[int]) -> list[int]:
    """Return the seeds that a number of seeds, or the seeds themselves, stand for."""
    chosen: list[Any] = read_list(
        "seeds", range(int(seeds)) if isinstance(seeds, Integral) else cast(Iterable[int], seeds), MOST
    )
    if not chosen or not all(isinstance(seed, Integral) and not isinstance(seed, bool) for seed in chosen):
        raise InputError(f"seeds={shorten(seeds)}: must be a number of seeds, 1 or more, or a list of whole numbers")
    return [int(seed) for seed in chosen]
