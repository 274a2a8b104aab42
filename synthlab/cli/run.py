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
    from synthlab.output import print_out
    from synthlab.runs.run import bookkeeping, resolve
    from synthlab.storage.store import Store
    from synthlab.sweeps.sweep import ensure
    from synthlab.sweeps.trackers import tracker_of

    config, given = resolve(raw), bookkeeping(raw)
    store, retry = Store(given["results"], given["save"], given["tag"]), given["retry"] or "failed"
    tracker = tracker_of(given["tracker"], store.tag)
    records = ensure([config], store, given["workers"], False, given["device"], tracker, retry, report_recorded=True)
    print_out(f"{records}\nrecord: {config.id} in {store.path(config.id)}\n")
    return records[0].diverged_at is None


if __name__ == "__main__":
    main()
