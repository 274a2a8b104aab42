"""``synthlab collect``: write all runs of a results folder as one table, a CSV or Parquet file."""

import os
import secrets
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from synthlab.cli.arguments import Parser, exit_on_input_error
from synthlab.errors import InputError
from synthlab.output import print_err, print_out

MAX_NAMED = 10  # the most omitted records that are named one by one


def collect(results: str | os.PathLike[str], out: str | os.PathLike[str], where: Any = None) -> Any:
    """Write one table of all runs below a folder of results.

    It is written in parts, so that memory hardly grows with the number of runs, and whole or not at all.

    Args:
        results: The folder of the records, or the address of an object store.
        out: The file, .parquet or .csv.
        where: Conditions that must all be true, as ``synthlab.load_records`` takes them.

    Returns:
        The collection. ``runs`` is the number of runs written, ``damaged`` has a line for each damaged file, and
        ``unknown`` the number of records of each unknown family.

    Raises:
        InputError: A condition, the folder or the file is invalid.

    Example:
        >>> import pandas as pd
        >>> import synthlab
        >>> from synthlab.collect import collect
        >>> short = {"steps": 2, "batch": 4, "record_every": 1}  # 2 training steps, to be quick
        >>> records = synthlab.run(task="mean", seeds=3, test_length=12, protocol=short, progress=False)
        >>> collect("results", "runs.csv", where="task=mean").runs
        3
        >>> len(pd.read_csv("runs.csv"))  # 3 runs, 12 test lengths
        36
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from synthlab.analysis.collection import Collection
    from synthlab.storage.store import Store

    out = Path(out)
    if out.suffix not in (".parquet", ".csv"):
        raise InputError(f"out={out}: must end in .parquet or .csv")
    store = Store(results)
    if store.files.local is not None and not store.files.local.exists():
        raise InputError(f"results={results}: there is no such folder")
    collection = Collection(store, where)
    empty = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in collection.kinds.items()})
    partial = out.with_name(f".partial-{out.name}-{secrets.token_hex(4)}")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.suffix == ".csv":
            with open(partial, "w", newline="") as file:
                empty.to_csv(file, index=False)
                for part in collection.parts():
                    part.to_csv(file, index=False, header=False)
        else:
            schema = pa.Schema.from_pandas(empty, preserve_index=False).remove_metadata()
            with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
                for part in collection.parts():
                    writer.write_table(pa.Table.from_pandas(part, schema=schema, preserve_index=False))
        partial.replace(out)
    except OSError as error:
        raise InputError(f"out={out}: cannot be written ({error.strerror or error})") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return collection


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line. Status 0: no record is damaged; 1: some are, all others are in the table; 2: bad input."""
    parser = Parser(prog="synthlab collect", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("results", nargs="?", default="results", help="results folder or address (default: results)")
    parser.add_argument(
        "--where",
        action="append",
        metavar="CONDITIONS",
        help="such as 'task=length,sum train_length>=20 status=finished'; all must be true",
    )
    parser.add_argument(
        "--out", default="runs.parquet", type=Path, help="a .parquet or .csv file (default: %(default)s)"
    )
    given = parser.parse_intermixed_args(argv)
    with exit_on_input_error():
        found = collect(given.results, given.out, given.where)
    print_out(f"{found.runs} runs: {given.out}")
    if found.damaged:
        named = [f"damaged: {line}" for line in found.damaged[:MAX_NAMED]]
        print_err(*named, f"damaged: {len(found.damaged)} files in all, left out")
    for line in found.unknown_lines():
        print_err(line)
    sys.exit(1 if found.damaged else 0)


if __name__ == "__main__":
    main()
