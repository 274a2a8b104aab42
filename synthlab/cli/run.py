"""``synthlab run``: train one model, unless it is recorded, and print its error by length."""

from typing import TYPE_CHECKING, Any

from synthlab.cli import hydra_app

if TYPE_CHECKING:
    from synthlab.config.base import Config
    from synthlab.storage.store import Store


def task(raw: dict[str, Any]) -> bool:
    """Train the run that the config describes, unless it is recorded, and print it; return False if it diverged."""
    with hydra_app.pause_garbage_collection():
        from synthlab.analysis.printing import describe_recorded
        from synthlab.config.base import bookkeeping, resolve
        from synthlab.output import say, tell
        from synthlab.storage.store import Store
        from synthlab.sweeps.sweep import count_workers, ensure
        from synthlab.sweeps.trackers import tracker_of

    config, given = resolve(raw), bookkeeping(raw)
    store = Store(given["results"], given["save"], given["tag"])
    tracker = tracker_of(given["tracker"], store.tag)
    count_workers(given["workers"])  # also refuses an invalid number of workers, though one run needs only one
    retry = given["retry"] or "failed"
    was_recorded = store.holds(config) and is_sound(store, config)
    records = ensure([config], store, progress=False, device=given["device"], tracker=tracker, retry=retry)
    say(f"{records}\nrecord: {store.path(config.id)}\n")
    if was_recorded:
        tell(describe_recorded(records, 1))
    return records[0].diverged_at is None


def is_sound(store: "Store", config: "Config") -> bool:
    """Return True if a record can be read, and will not be trained anew."""
    from synthlab.errors import InputError

    try:
        return bool(store.read(config.id).environment)
    except InputError:
        return False


def main() -> None:
    """Run ``synthlab run``."""
    hydra_app.main(task, "config")


if __name__ == "__main__":
    main()
