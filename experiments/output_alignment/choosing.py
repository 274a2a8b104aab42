"""Rules that select a map of the target without longer sequences, compared with the best fixed map.

A trial is one task, encoding and training length. Every map is trained on all training lengths and tested up to five
times the longest; and trained again on shorter lengths only, to be scored at the held-out ones. A rule selects a map
for each seed. Its regret is the logarithm (base 10, in decades) of the error of its choice over that of the best fixed
map, with the same seed at the longest test length. The best fixed map of a seed is the one with the least median there
over the other seeds, which nobody knows in advance.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, cast

import numpy as np
import pandas as pd
import torch

from synthlab.analysis.series import plain_label
from synthlab.numbers.evaluation import constant_loss, data
from synthlab.numbers.family import score
from synthlab.numbers.outrep import OUTREPS
from synthlab.numbers.run import NumbersRun
from synthlab.rng import stream
from synthlab.storage.records import Record
from synthlab.studies.evidence import final_loss
from theory.closed_forms.numeric import expected_errors, fit_outputs

LEARNED = ("box_cox", "monotone")
FAR = 5  # multiple of the training length up to which maps are tested
DRAWN = 4096  # number of training sequences whose mapped targets are used


class Trial(NamedTuple):
    """The measurements for one task, encoding and training length.

    Tables have a row for each seed and a column for each map. ``scores`` has such a table for each rule that selects
    the map with the least score.
    """

    task: str
    encoding: str
    train_length: int
    errors: pd.DataFrame
    scores: Mapping[str, pd.DataFrame]

    @property
    def name(self) -> str:
        """The name of the trial."""
        return f"{plain_label(self.encoding)}, trained to {self.train_length}"

    @property
    def fixed(self) -> list[str]:
        """The maps without parameters, from which rules select."""
        return [str(name) for name in self.errors if name not in LEARNED]

    @property
    def best(self) -> list[str]:
        """For each seed, the fixed map with the least median error over the other seeds.

        If there is only one seed, it is over that seed.
        """
        fixed = self.errors[self.fixed]
        others = [fixed.drop(index=seed) if len(fixed) > 1 else fixed for seed in fixed.index]
        return [str(each.median().idxmin()) for each in others]

    def choices(self) -> pd.DataFrame:
        """Return the map that each rule selects, a row for each seed; the two learned maps select themselves."""
        chosen = {rule: table[self.fixed].idxmin(axis="columns") for rule, table in self.scores.items()}
        same = {f"always {name}": pd.Series(name, self.errors.index) for name in ("reciprocal", "identity")}
        learned = {name: pd.Series(name, self.errors.index) for name in LEARNED if name in self.errors}
        return pd.DataFrame(chosen | same | learned)

    def regrets(self) -> pd.DataFrame:
        """Return the regret of each rule in decades, a row for each seed."""
        logs = self.errors.apply(np.log10)
        places = np.arange(len(logs))
        best = logs.to_numpy()[places, logs.columns.get_indexer(pd.Index(self.best))]
        found = {
            rule: logs.to_numpy()[places, logs.columns.get_indexer(pd.Index(chosen))] - best
            for rule, chosen in self.choices().items()
        }
        return pd.DataFrame(found, index=logs.index)


def trials_of(records: Iterable[Record]) -> list[Trial]:
    """Return the trials of the finished ``records``; runs on shorter training lengths give the scores."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        config = cast(NumbersRun, record.config)
        groups.setdefault((config.task["name"], config.encoding["name"]), []).append(record)
    found = []
    for (task, encoding), group in groups.items():
        whole = [record for record in group if record.config.test_length >= FAR * record.config.train_length]
        for length in sorted({record.config.train_length for record in whole}):
            full = [record for record in whole if record.config.train_length == length]
            shorter = [record for record in group if record not in whole and record.config.test_length == length]
            found.append(_trial(task, encoding, length, full, shorter))
    return found


def _trial(task: str, encoding: str, length: int, full: Sequence[Record], shorter: Sequence[Record]) -> Trial:
    errors = _table((r, float(r.metrics["mse"].iloc[-1])) for r in full)
    scores = {
        f"held out: 1 to {k}, scored on {k + 1} to {length}": _table(
            (record, score(record)) for record in shorter if record.config.train_length == k
        )
        for k in sorted({record.config.train_length for record in shorter}, reverse=True)
    }
    fixed = [record for record in full if _config(record).outrep["name"] not in LEARNED]
    scores["least training loss"] = _table((r, final_loss(r.training) / constant_loss(_config(r))) for r in fixed)
    scores["greatest likelihood"] = _table((r, _unlikelihood(r)) for r in fixed)
    scores["least shift of targets"] = _table((r, shift_of_targets(_config(r))) for r in fixed)
    scores["optimum of linear attention"] = _table((r, _theory(_config(r))) for r in fixed)
    seeds = errors.index.intersection(scores["least training loss"].index)
    for table in scores.values():
        seeds = seeds.intersection(table.index)
    return Trial(task, encoding, length, errors.loc[seeds], {rule: table.loc[seeds] for rule, table in scores.items()})


def _table(values: Iterable[tuple[Record, float]]) -> pd.DataFrame:
    """Return a row for each seed that all maps have, a column for each map."""
    found: dict[str, dict[int, float]] = {}
    for record, value in values:
        found.setdefault(_config(record).outrep["name"], {})[record.config.seed] = value
    return pd.DataFrame(found).dropna()


def shift_of_targets(config: NumbersRun) -> float:
    """Return how far the mean of the mapped targets moves between the two longest training lengths.

    It is in standard deviations of the mapped targets over training. It is least for the map that flattens most,
    whatever the candidates are.
    """
    task, inputs, outrep = data(config)
    x = inputs.draw(DRAWN, config.train_length, stream(config.data_seed, "training"))
    targets = outrep.forward(task.targets(x).double())
    means = targets.mean(0)
    return float((means[-1] - means[-2]).abs() / targets.std())


@torch.no_grad()
def _unlikelihood(record: Record) -> float:
    """Return the final training loss times exp(-2 mean(log |f'|)), the loss of learned maps.

    Infinite for a map whose slope is infinite at a training target, whose likelihood would be unbounded.
    """
    task, inputs, outrep = data(_config(record))
    x = inputs.draw(DRAWN, record.config.train_length, stream(0, "training"))
    likely = outrep.log_slope(task.targets(x).double() + outrep.shift).mean()
    return final_loss(record.training) * float(torch.exp(-2 * likely)) if likely.isfinite() else np.inf


@cache
def error_in_theory(outrep: str, shift: float, task: str, train_length: int, test_length: int, largest: float) -> float:
    """Return the expected squared error at ``test_length`` of the optimum of linear attention with BOS.

    It is trained under a map on lengths to ``train_length``.
    """
    built = OUTREPS.build({"name": outrep, "shift": shift})
    outputs = fit_outputs(task, train_length, built, bos=True)
    return float(expected_errors(outputs, task, built, largest, test_length)[0][-1])


def _theory(config: NumbersRun) -> float:
    outrep, task = config.outrep, config.task["name"]
    lengths = config.train_length, config.test_length
    return error_in_theory(outrep["name"], outrep["shift"], task, *lengths, config.evaluation.largest)


def _config(record: Record) -> NumbersRun:
    return cast(NumbersRun, record.config)
