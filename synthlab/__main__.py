"""``python -m synthlab``: train one model, or sweep with -m, and print its error by length."""

from typing import Any

from synthlab import cli


def task(raw: dict[str, Any]) -> bool:
    """Train the run that the config describes, unless it is recorded, and print it; False if it diverged."""
    from synthlab.assembly import resolve
    from synthlab.runs import ensure
    from synthlab.store import Store

    config = resolve(raw)
    store = Store(raw["results"])
    records = ensure([config], store, progress=False, device=raw["device"])
    print(f"{records}\nrecord: {store.runs / config.id}\n", flush=True)
    return records[0].diverged_at is None


def main() -> None:
    cli.main(task, "config")


if __name__ == "__main__":
    main()
