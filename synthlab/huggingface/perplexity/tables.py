"""Tables of an evaluation: means over tokens, with standard errors over documents."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from synthlab.huggingface.perplexity.measurements import Measurement
from synthlab.huggingface.perplexity.scoring import DISTANCES, Part
from synthlab.huggingface.perplexity.settings import MEASURES
from synthlab.huggingface.perplexity.windows import DEFINITIONS

Done = Sequence[tuple[Measurement, Part]]


class Tables(NamedTuple):
    """The tables of an evaluation, in nats.

    Attributes:
        perplexity: A row for each measure and length.
        positions: A row for each length and context: the loss in disjoint windows.
        misalignment: A row for each length.
        documents: A row for each document, measure and length.
    """

    perplexity: pd.DataFrame
    positions: pd.DataFrame
    misalignment: pd.DataFrame
    documents: pd.DataFrame


def ratio(sums: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean over all counted values, and its standard error over documents, of shape [...].

    Args:
        sums: The sum of each document, [D, ...].
        counts: The number of values in each sum, [D, 1, ...] or the shape of ``sums``.

    Returns:
        ``sums`` over ``counts``, both summed over documents, and the standard error of this ratio by its linear part
        (Cochran, *Sampling Techniques*, section 6.3), NaN for one document.
    """
    mean = sums.sum(0) / counts.sum(0)
    number = len(sums)
    if number < 2:
        return mean, np.full_like(mean, math.nan)
    left = sums - mean * counts
    return mean, np.sqrt(number / (number - 1) * (left**2).sum(0)) / counts.sum(0)


def tables(done: Done) -> Tables:
    """Return all tables of the results of an evaluation."""
    groups: dict[tuple[str, int], list[tuple[Measurement, Part]]] = {}
    for task, part in done:
        groups.setdefault((task.measure, task.span.length), []).append((task, part))
    order = sorted(groups, key=lambda key: (MEASURES.index(key[0]), key[1]))
    losses = [key for key in order if key[0] != "misalignment"]
    positions = [_positions(length, groups[measure, length]) for measure, length in order if measure == "disjoint"]
    return Tables(
        pd.DataFrame([_loss_row(*key, groups[key]) for key in losses]),
        pd.concat(positions, ignore_index=True) if positions else pd.DataFrame(),
        pd.DataFrame([_distances_row(key[1], groups[key]) for key in order if key not in losses]),
        pd.DataFrame([_document_row(*pair) for key in order for pair in groups[key]]),
    )


def _loss_row(measure: str, length: int, group: Done) -> dict[str, object]:
    sums = np.array([part.sums["loss"] for _, part in group])
    counts = np.array([part.count for _, part in group], dtype=float)
    sizes = counts * [task.document.bytes_per_token for task, _ in group]
    (loss, error), (bits, bits_error) = ratio(sums, counts), ratio(sums / math.log(2), sizes)
    with np.errstate(over="ignore"):
        perplexity = np.exp(loss)
    return {
        "measure": measure,
        "length": length,
        "stride": group[0][0].span.stride if measure == "strided" else pd.NA,
        "loss": float(loss),
        "loss_error": float(error),
        "perplexity": float(perplexity),
        "perplexity_error": float(perplexity * error),
        "bits_per_byte": float(bits),
        "bits_per_byte_error": float(bits_error),
        "documents": len(group),
        "tokens": int(counts.sum()),
    }


def _positions(length: int, group: Done) -> pd.DataFrame:
    sums = np.array([part.contexts for _, part in group])
    windows = np.array([[part.count / (length - 1)] for _, part in group])
    loss, error = ratio(sums, np.broadcast_to(windows, sums.shape))
    columns = {"length": length, "context": range(1, length), "loss": loss, "loss_error": error}
    return pd.DataFrame({**columns, "documents": len(group), "windows": int(windows.sum())})


def _distances_row(length: int, group: Done) -> dict[str, object]:
    row: dict[str, object] = {"length": length}
    counts = np.array([part.count for _, part in group], dtype=float)
    for name in DISTANCES:
        value, error = ratio(np.array([part.sums[name] for _, part in group]), counts)
        row |= {name: float(value), f"{name}_error": float(error)}
    return row | {"documents": len(group), "texts": int(counts.sum())}


def _document_row(task: Measurement, part: Part) -> dict[str, object]:
    means = {name: value / part.count for name, value in part.sums.items()}
    return {
        "document": task.document.name,
        "measure": task.measure,
        "length": task.span.length,
        "count": part.count,
        **means,
    }


def format_tables(found: Tables) -> list[str]:
    """Return one table as text: a row for each length, a column for each measure, with the standard errors."""
    rows: dict[int, dict[str, str]] = {}
    for row in found.perplexity.to_dict("records"):
        rows.setdefault(row["length"], {})[row["measure"]] = _with_error(row["perplexity"], row["perplexity_error"])
    for row in found.misalignment.to_dict("records"):
        rows.setdefault(row["length"], {}).update(
            {
                "misalignment": _with_error(row["sce"], row["sce_error"]),
                "excess": _with_error(row["excess"], row["excess_error"]),
            }
        )
    columns = [*(name for name in DEFINITIONS if any(name in row for row in rows.values()))]
    columns += ["misalignment", "excess"] if len(found.misalignment) else []
    body = [
        ["length", *columns],
        *([f"{length:,}", *(row.get(name, "") for name in columns)] for length, row in sorted(rows.items())),
    ]
    widths = [max(len(line[i]) for line in body) for i in range(len(body[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in body]


def _with_error(value: float, error: float) -> str:
    return f"{value:.4g}" if math.isnan(error) else f"{value:.4g} ± {error:.2g}"
