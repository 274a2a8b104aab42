"""Tables of an evaluation: means over tokens, with standard errors over documents."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from synthlab.huggingface.perplexity.scoring import DISTANCES, Measurement, Part

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


def make_tables(done: Done) -> Tables:
    """Return all tables of the results of an evaluation."""
    groups: dict[tuple[str, int], list[tuple[Measurement, Part]]] = {}
    for task, part in done:
        groups.setdefault((task.measure, task.rule.length), []).append((task, part))
    measures = list(dict.fromkeys(measure for measure, _ in groups))
    perplexity, positions, distances, documents = [], [], [], []
    for measure, length in sorted(groups, key=lambda key: (measures.index(key[0]), key[1])):
        group = groups[measure, length]
        parts = [part for _, part in group]
        counts = np.array([part.count for part in parts], dtype=float)
        means = {name: _mean(name, parts, counts) for name in parts[0].sums}
        if measure == "misalignment":
            row = {"length": length} | {key: value for mean in means.values() for key, value in mean.items()}
            distances.append(row | {"documents": len(group), "texts": int(counts.sum())})
        else:
            row = {"measure": measure, "length": length, **means["loss"], **_derive(group, means["loss"])}
            perplexity.append(row | {"documents": len(group), "tokens": int(counts.sum())})
        if parts[0].contexts:
            windows = counts / (length - 1)
            loss, error = ratio(np.array([part.contexts for part in parts]), windows[:, None])
            columns = {"length": length, "context": range(1, length), "loss": loss, "loss_error": error}
            positions.append(pd.DataFrame({**columns, "documents": len(group), "windows": int(windows.sum())}))
        for task, part in group:
            row = {"document": task.document.name, "measure": measure, "length": length, "count": part.count}
            documents.append(row | {name: value / part.count for name, value in part.sums.items()})
    by_context = pd.concat(positions, ignore_index=True) if positions else pd.DataFrame()
    return Tables(pd.DataFrame(perplexity), by_context, pd.DataFrame(distances), pd.DataFrame(documents))


def _mean(name: str, parts: Iterable[Part], counts: np.ndarray) -> dict[str, float]:
    value, error = ratio(np.array([part.sums[name] for part in parts]), counts)
    return {name: float(value), f"{name}_error": float(error)}


def _derive(group: Done, mean: dict[str, float]) -> dict[str, float]:
    """Return the perplexity of a mean loss, and the loss in bits a byte."""
    with np.errstate(over="ignore"):
        perplexity = float(np.exp(mean["loss"]))
    sizes = np.array([part.count * task.document.bytes_per_token for task, part in group])
    bits, error = ratio(np.array([part.sums["loss"] for _, part in group]) / math.log(2), sizes)
    derived = {"perplexity": perplexity, "perplexity_error": perplexity * mean["loss_error"]}
    return derived | {"bits_per_byte": float(bits), "bits_per_byte_error": float(error)}


def format_tables(found: Tables) -> str:
    """Return one table as text: a row for each length, a column for each measure, with the standard errors."""
    cells: dict[str, dict[int, str]] = {}
    for row in found.perplexity.to_dict("records"):
        cells.setdefault(row["measure"], {})[row["length"]] = _format(row["perplexity"], row["perplexity_error"])
    for row in found.misalignment.to_dict("records"):
        for name, column in zip(DISTANCES[:2], ("misalignment", "excess"), strict=True):
            cells.setdefault(column, {})[row["length"]] = _format(row[name], row[f"{name}_error"])
    return pd.DataFrame(cells).sort_index().rename_axis("length").reset_index().to_string(index=False)


def _format(value: float, error: float) -> str:
    return f"{value:.4g}" if math.isnan(error) else f"{value:.4g} ± {error:.2g}"
