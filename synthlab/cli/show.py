"""``synthlab show``: one run of a results folder: its settings, numbers by length, training curve, or its error."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthlab.analysis.conditions import to_text
from synthlab.cli.arguments import Parser, exit_on_input_error
from synthlab.errors import InputError
from synthlab.output import print_out

MAX_POINTS = 10  # the most points of the training curve that are shown


def describe(results: str, identity: str) -> Iterator[str]:
    """Yield what is known of a run, as lines. Raises InputError for no run, or for several."""
    from synthlab.analysis.printing import render_records
    from synthlab.storage.records import flatten
    from synthlab.storage.store import Store

    store = Store(results)
    recorded = {each: "runs" for each in store.ids() if each.startswith(identity)}
    found = {each: "failed" for each in store.ids("failed") if each.startswith(identity)} | recorded
    if len(found) != 1:
        what = f"{len(found)} runs begin so; give more digits" if found else "there is no such run"
        raise InputError(f"{identity}: {what} below results={results}")
    ((name, folder),) = found.items()
    if folder == "failed":
        failure = store.read_failure(name)
        yield f"run {name}: failed"
        yield from _section("settings", flatten(failure.config.model_dump()))
        yield from _section("environment", failure.environment)
        yield f"\n{failure.traceback.rstrip()}"
        return
    run = store.read(name)
    yield f"run {name}: {run.status}"
    yield from _section("settings", run.settings())
    yield from _section("environment", run.environment)
    yield from _section("more", {"tags": ", ".join(run.tags) or "none", "weights after": [*run.weights] or "none"})
    yield f"\n{render_records([run])}"
    yield f"\ntraining curve\n{_table(run.training.iloc[:: -(-len(run.training) // MAX_POINTS) or 1])}"
    if run.outputs is not None:
        yield f"\noutputs\n{_table(run.outputs)}"


def _section(title: str, values: Mapping[str, Any]) -> list[str]:
    return ["", title, *(f"  {key}: {to_text(value)}" for key, value in values.items())]


def _table(table: Any) -> str:
    return table.to_string(index=False, float_format="{:.6g}".format)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = Parser(prog="synthlab show", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("run", metavar="ID", help="the id of a run, or its first digits")
    parser.add_argument("results", nargs="?", default="results", help="results folder or address (default: results)")
    given = parser.parse_args(argv)
    with exit_on_input_error():
        print_out(*describe(given.results.removeprefix("results="), given.run))
    sys.exit(0)


if __name__ == "__main__":
    main()
