"""``synthlab run``: train one model, unless it is recorded; ``synthlab sweep``: every combination of values."""

import sys
from typing import Any

from synthlab.cli import hydra_app


def main() -> None:
    """Run ``synthlab run``."""
    hydra_app.main(train, "config")


def sweep() -> None:
    """Run ``synthlab sweep``; also ``synthlab -m``."""
    hydra_app.main(train, "config", words=["-m", *sys.argv[1:]])


def train(raw: dict[str, Any]) -> bool:
    """Train the run that the config describes, unless it is recorded, and print it; return False if it diverged."""
    from synthlab.output import say
    from synthlab.runs.run import bookkeeping, resolve
    from synthlab.storage.store import Store
    from synthlab.sweeps.sweep import count_workers, ensure
    from synthlab.sweeps.trackers import tracker_of

    config, given = resolve(raw), bookkeeping(raw)
    store = Store(given["results"], given["save"], given["tag"])
    tracker = tracker_of(given["tracker"], store.tag)
    count_workers(given["workers"])  # also refuses an invalid number of workers, though one run needs only one
    retry = given["retry"] or "failed"
    records = ensure(
        [config], store, progress=False, device=given["device"], tracker=tracker, retry=retry, tell_recorded=True
    )
    say(f"{records}\nrecord: {config.id} in {store.path(config.id)}\n")
    return records[0].diverged_at is None


if __name__ == "__main__":
    main()
