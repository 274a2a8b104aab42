"""Printed records: settings, metrics at a few lengths, chance, the horizon. A block for each family."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from synthlab.analysis.conditions import to_text
from synthlab.analysis.tables import curves, label_series, make_table
from synthlab.errors import escape
from synthlab.runs.run import Run
from synthlab.storage.records import Record


def by_family(records: Sequence[Record]) -> list[list[Record]]:
    """Group the records by their measures."""
    blocks: dict[int, list[Record]] = {}
    for record in records:
        blocks.setdefault(id(record.config.measures()), []).append(record)
    return list(blocks.values())


def summary(records: Sequence[Record]) -> pd.DataFrame:
    """Return the primary metric at a few lengths, a row for each, a column for each series: the median over seeds.

    With several families, a column is named by the metric and the series.
    """
    finished = by_family([record for record in records if record.diverged_at is None])
    frames = {block[0].config.measures().primary: _summary(block) for block in finished}
    if len(frames) > 1:
        return pd.concat(frames, axis="columns", names=["metric"]).sort_index()
    return next(iter(frames.values()), pd.DataFrame())


def render_records(records: Sequence[Record]) -> str:
    """Return a few lines of text for each family of records: settings, metrics by length, diverged runs."""
    blocks: list[str] = []
    for block in by_family(records):
        finished = [record for record in block if record.diverged_at is None]
        lines = [_headline(block)]
        if finished:
            lines += _render_one(finished[0]) if len(block) == 1 else _render_many(finished)
        lines += [
            f"seed {record.config.seed} diverged: the loss was not finite at step {record.diverged_at}; "
            f"a lower protocol.lr (now {record.config.protocol.lr:g}) may help"
            for record in block
            if record.diverged_at is not None
        ]
        blocks.append("\n".join(lines))
    return "\n".join(map(escape, ("\n\n".join(blocks) or "no records").split("\n")))  # records may come from anybody


def describe_recorded(records: Sequence[Record], asked: int) -> str:
    """Return a line on the records that were read and not trained, of so many runs that were ``asked`` for."""
    parts = [
        " or ".join(dict.fromkeys(str(record.environment.get(name, "?")) for record in records))
        for name in ("torch", "device")
    ]
    days = sorted({str(record.environment.get("started", "?"))[:10] for record in records})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    what = "nothing was trained: the run is" if asked == 1 else f"{len(records)} of {asked} runs are"
    return f"{what} recorded ({when}, torch {parts[0]}, {parts[1]})"


def _headline(records: Sequence[Record]) -> str:
    """Return a line with the number of runs, the members that all have, and the seeds, others where they differ."""
    settings = [record.settings() for record in records]
    groups = dict.fromkeys(group for record in records for group in record.config.groups())
    seeds = [name for name in Run.SEEDS[1:] if any(each.get(name, each["seed"]) != each["seed"] for each in settings)]
    words = []
    for name in (*groups, "train_length", "seed", *seeds):
        values = list(dict.fromkeys(to_text(each[name]) for each in settings if name in each))
        if name not in groups or (len(values) == 1 and values != ["null"]):
            words.append(f"{name}={', '.join(values)}")
    return f"{len(records)} run{'s' * (len(records) > 1)}: {' '.join(words)}"


def _render_one(record: Record) -> list[str]:
    """Return lines with the metrics and chance at a few lengths, and the horizon."""
    config, rows = record.config, record.metrics
    measures = config.measures()
    columns = {name: metric for name, metric in measures.metrics.items() if metric.format and name in rows}
    levels = chance_of(record)
    if levels is not None:
        rows, columns["chance"] = rows.assign(chance=levels), measures.metrics[measures.primary]
    rows = rows[rows["length"].isin(_choose_lengths(rows["length"], config.train_length))]
    table = [[f"{text:>6}" for text in ("length", *rows["length"])]]
    for name, metric in columns.items():
        title = name.replace("_", " ")
        width = max(len(title) + 1, 8 if str(metric.format).endswith("%") else 10)
        table.append([f"{text:>{width}}" for text in (title, *map(metric.text, rows[name]))])
    lines = [" ".join(cells) for cells in zip(*table, strict=True)]
    if measures.criterion and measures.horizon:
        reached = measures.horizon(config, record.metrics)
        lines.append(f"{_criterion([record])} up to length {reached} (tested to {config.test_length})")
    if measures.remark and (remark := measures.remark(record)):
        lines.append(remark)
    return lines


def _render_many(records: Sequence[Record]) -> list[str]:
    """Return lines with the primary metric at a few lengths for each series, and horizons.

    The chance level is included if all records share the task, its inputs and training lengths.
    """
    measures, shown = records[0].config.measures(), _summary(records)
    metric, rows = measures.metrics[measures.primary], make_table(records)
    series = label_series(rows)
    lines = [f"{measures.primary} by length, median over seeds: {metric.meaning}"]
    text = shown.map(metric.text)
    fields = ("task", "inputs", "train_length", "length_distribution")
    if len({str([getattr(record.config, field, None) for field in fields]) for record in records}) == 1:
        longest = max(records, key=lambda record: record.config.test_length)
        levels = chance_of(longest)
        if levels is not None:
            by_length = dict(zip(longest.metrics["length"], levels, strict=True))
            text["chance"] = [metric.text(by_length[each]) if each in by_length else "" for each in shown.index]
    if measures.criterion:
        reached = rows.groupby(series)["horizon"].median().to_dict()
        text.loc["horizon"] = [f"{reached[name]:g}" if name in reached else "" for name in text]
        lines.append(f"horizon: the length up to which the {_criterion(records)}")
    seeds = [str(record.config.seed) for record in records if record.metrics[measures.primary].isna().any()]
    unmeasured = f"values that are not numbers are left out (seed {', '.join(dict.fromkeys(seeds))})"
    return [*lines, text.to_string(), *[unmeasured] * bool(seeds)]


def _summary(records: Sequence[Record]) -> pd.DataFrame:
    """Return ``summary`` for finished runs of one family."""
    drawn = curves(make_table(records), records[0].config.measures().primary)
    drawn = drawn[drawn["length"].isin(_choose_lengths(drawn["length"], records[0].config.train_length))]
    columns = list(dict.fromkeys(drawn["series"]))
    return drawn.pivot(index="length", columns="series", values="median")[columns]


def _choose_lengths(lengths: pd.Series, train_length: int) -> list[int]:
    """Return a few of the tested ``lengths``: within training, at its end, near multiples of it, the last."""
    tested = np.unique(lengths)
    multiples = [round(train_length * factor) for factor in (0.5, 1, 1.5, 2, 3, 4, 5, 10, 20, 50, 100)]
    asked = [length for length in (1, *multiples, tested[-1]) if 1 <= length <= tested[-1]]
    places = np.searchsorted(tested, asked, side="right") - 1
    return np.unique(tested[places.clip(0)]).tolist()


def chance_of(record: Record) -> pd.Series | None:
    """Return the chance level of the primary metric in each row of the metrics."""
    chance = record.config.measures().chance
    levels = None if chance is None else chance(record.config, record.metrics)
    return None if levels is None else pd.Series(levels, index=record.metrics.index, dtype=float)


def _criterion(records: Sequence[Record]) -> str:
    """Return what is true up to the horizon, with the values of the settings that it names."""
    settings = [record.settings() for record in records]

    def with_values(key: re.Match[str]) -> str:
        values = dict.fromkeys(str(each[key[0]]) for each in settings if key[0] in each)
        return f"{key[0]}={','.join(values)}" if values else key[0]

    return re.sub(r"[a-z]+[._][a-z._]*[a-z]", with_values, str(records[0].config.measures().criterion))
