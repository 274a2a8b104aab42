"""``synthlab compare``: plot any metric against any setting, grouped and faceted by others, over all runs."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from synthlab.analysis.collection import PART_RUNS, Collection, Part
from synthlab.analysis.comparison import Lengths, Names, gather_points, split
from synthlab.analysis.tables import STEP, make_curve_table
from synthlab.cli.arguments import Parser, exit_on_input_error
from synthlab.errors import InputError, escape
from synthlab.output import print_err, print_out, save_picture
from synthlab.storage.store import Store
from synthlab.styles import RC

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Makes files identical in every call.
METADATA = {".png": {"Software": None}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}


def compare(
    table: pd.DataFrame,
    metric: str | None = None,
    x: str = "length",
    by: Names = None,
    facet: Names = None,
    length: Lengths = None,
    path: str | os.PathLike[str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> "Figure":
    """Plot any metric against any setting: medians over all runs of a point, band (or bar) from min to max.

    A line below the plot tells over how many runs and which settings points are pooled, and what was left out.

    Args:
        table: A table of ``Records.table`` or ``load_records``; for training curves, ``Records.curves``.
        metric: A metric of the runs (such as ``mse``, ``exact``, ``loss``), ``horizon``, or any other column of numbers
            that is no setting. None for the primary metric, which all runs must share.
        x: The variable of the x-axis: ``length``, a setting such as ``train_length``, or for training curves ``step``.
        by: The settings that define the series, in a list or with commas, empty for none; None for those that differ.
        facet: One or two settings that define the panels.
        length: If ``x`` is not ``length``, the test lengths to plot; each is a series. None for the longest length that
            each run was tested on.
        path: Where to save the picture (.png, .pdf, .svg); None saves none.
        labels: Other names for values, by what the legend calls them: ``{"mine:Fire": "FIRE"}``.

    Returns:
        The figure.

    Raises:
        InputError: The table lacks the columns, lengths or labels, they do not fit together, the runs belong to
            families that do not share the metric, or the path cannot be written.

    Example:
        >>> import synthlab
        >>> from synthlab.compare import compare
        >>> short = {"steps": 2, "batch": 4, "record_every": 1}  # 2 training steps, to be quick
        >>> runs = [synthlab.run(task=task, seeds=2, protocol=short, progress=False) for task in ("length", "sum")]
        >>> figure = compare(synthlab.load_records(), metric="relative_error", facet="task", path="errors.png")
        >>> len(figure.axes)
        2
    """
    from synthlab.analysis.panels import draw_comparison  # matplotlib is imported only for pictures

    figure = draw_comparison(gather_points(table, metric, x, by, facet, length), labels)
    if path is not None:
        _save(figure, "path", Path(path))
    return figure


def _save(figure: "Figure", field: str, path: Path) -> None:
    import matplotlib.pyplot as plt

    with plt.rc_context(RC):
        save_picture(figure, field, path, metadata=METADATA.get(path.suffix.lower()))


def _read(results: str, where: list[str] | None) -> Iterator[Part]:
    """Yield the runs in a folder of results. Raises InputError if there are none."""
    collection = Collection(Store(results), where)
    yield from collection.read()
    for line in collection.warnings():
        print_err(f"warning: {escape(line)}")
    if not collection.runs:
        raise InputError(f"results={results}: holds no runs" + (f" where {' '.join(where)}" if where else ""))


def _read_curves(results: str, where: list[str] | None) -> Iterator[Part]:
    """Yield the training curves of the finished runs in a folder of results, in parts."""
    asked: list[str] = []
    for runs, places, _ in _read(results, where):
        found = runs.iloc[np.unique(places)]
        asked += found["id"][found["status"] == "finished"].tolist()
    records = Store(results).read_all(asked)
    while part := list(islice(records, PART_RUNS)):
        yield split(make_curve_table(part))


def _compare(argv: Sequence[str] | None) -> list[Path]:
    """Plot what the command line asks for; return the files."""
    import matplotlib.pyplot as plt

    from synthlab.analysis.panels import draw_comparison

    parser = Parser(prog="synthlab compare", description=(__doc__ or "").partition(": ")[2], allow_abbrev=False)
    option = parser.add_argument
    option("results", nargs="?", default="results", help="results folder or address (default: results)")
    option("--metric", help="a metric of the runs, horizon, or another column of numbers (default: the primary metric)")
    option(
        "--x", default="length", metavar="SETTING", help="variable of the x-axis: length (default), a setting, or step"
    )
    option("--by", metavar="SETTINGS", help="settings that define the series, with commas (default: those that differ)")
    option("--facet", metavar="SETTINGS", help="one or two settings that define the panels")
    option("--length", metavar="LENGTHS", help="test lengths to plot, with commas (default: each run's longest)")
    option("--where", action="append", metavar="CONDITIONS", help="runs to plot: 'task=length,sum train_length>=20'")
    option("--label", action="append", default=[], metavar="NAME=LABEL", help="another name: 'mine:Fire=FIRE, by me'")
    option("--out", default="compare.png", help="picture: .png, .pdf or .svg; its points are written to .points.csv")
    args = parser.parse_intermixed_args(argv)
    picture = Path(args.out)
    if wrong := [label for label in args.label if "=" not in label]:
        raise InputError(*(f"label={label}: must be NAME=LABEL" for label in wrong))
    runs = (_read_curves if args.x == STEP else _read)(args.results, args.where)
    comparison = gather_points(runs, args.metric, args.x, args.by, args.facet, args.length)
    data = picture.with_suffix(".points.csv")
    try:
        data.parent.mkdir(parents=True, exist_ok=True)
        data.write_text(comparison.csv(), encoding="utf-8")
    except OSError as error:
        raise InputError(f"out={picture}: cannot be written ({error.strerror})") from None
    figure = draw_comparison(comparison, dict(label.split("=", 1) for label in args.label))
    _save(figure, "out", picture)
    plt.close(figure)
    return [picture, data]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line: plot, and name the files; status 2, with one line for each problem, for bad input."""
    with exit_on_input_error():
        files = _compare(argv)
    print_out("written:", *(f"  {file}" for file in files))
    sys.exit(0)


if __name__ == "__main__":
    main()
