"""Analyses of a study's runs: panels of figures and tables, from which its claims are judged."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, cast

import pandas as pd
from pydantic import Field

from experiments.long_short_alignment.arms import baseline, bin_by_tokens, by_depth, differences, less_baseline
from experiments.long_short_alignment.drawings import Contexts, Lines, Points
from experiments.long_short_alignment.run_table import (
    FAR,
    QUANTITIES,
    Named,
    make_run_table,
    mark_fits,
    name_variant,
)
from experiments.long_short_alignment.scalar import ScalarRun
from experiments.long_short_alignment.step_costs import step_costs
from synthlab.analysis.plotting import DataPanel
from synthlab.analysis.tables import aggregate_seeds
from synthlab.errors import InputError
from synthlab.language.languages import TASKS
from synthlab.language.run import LanguageRun
from synthlab.runs.run import Run
from synthlab.storage.records import Record

Names = Annotated[list[str], Field(min_length=1)]


class Analysis(ABC):
    """A kind of analysis. The study's file has its ``name`` and its constructor's arguments."""

    run_class: type[ScalarRun] | None = None  # the class of its runs; None: that of their tasks' family
    reach = FAR  # multiple of the training length up to which its runs must be tested

    @classmethod
    def check(cls, study: str, config: Run) -> None:
        """Raise InputError for a run of ``study`` that this analysis cannot use."""
        if config.test_length < cls.reach * config.train_length:
            raise InputError(
                f"test_length={config.test_length}: {study} needs {cls.reach} times "
                f"train_length={config.train_length} or more"
            )

    def runs(self, records: Sequence[Record], names: Mapping[str, Named]) -> pd.DataFrame:
        """Return a row for each finished run, which is one of the study's CSVs; ``names`` are by identity."""
        return make_run_table(records, names)

    def fits(self, runs: pd.DataFrame, records: Sequence[Record], level: float) -> pd.Series:
        """Return True for each of the ``runs``, with their ``records``, that fits by the study's ``fit``, ``level``."""
        return mark_fits(runs, level)

    def restrict(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return a part of the ``runs`` as it would be if there were no others."""
        return runs

    @abstractmethod
    def panels(self, runs: pd.DataFrame, records: Sequence[Record]) -> dict[str, DataPanel]:
        """Return the figure's panels, by key, each with its data."""

    def tables(self, runs: pd.DataFrame, records: Sequence[Record]) -> dict[str, pd.DataFrame]:
        """Return further tables, by name."""
        return {}


class Effect(Analysis):
    """How the arms of a study differ from the first, in each of ``quantities``.

    There is a panel for each quantity. Runs of one variant and seed are compared. Where the arms are ``ordered``, there
    is a line over them for each variant.
    """

    def __init__(self, quantities: Names, label: str, ordered: bool = False):
        self.quantities, self.label, self.ordered = quantities, label, ordered

    def panels(self, runs, records):
        first = baseline(runs)
        change = f"change from {first}"
        drawing = Lines("arm", self.label, change, zero=True) if self.ordered else Points(first, change)
        return {
            name: DataPanel(
                QUANTITIES[name], drawing, _sort_by_arm(aggregate_seeds(differences(runs, name), BY_ARM, name), runs)
            )
            for name in self.quantities
        }


class Compute(Effect):
    """The same, with the cost of a step with the regularizer and without.

    The cost is a further table, measured on one thread of this machine.
    """

    def tables(self, runs, records):
        return {"cost": step_costs(cast(LanguageRun, records[0].config))}


class ByContext(Analysis):
    """Loss by the number of tokens seen, less that of the first arm: a panel for each variant."""

    def panels(self, runs, records):
        first = baseline(runs)
        every = less_baseline(bin_by_tokens(runs, records), ["variant", "seed", "length"], "loss", first)
        every = every[every["arm"] != first].assign(series=lambda d: d["arm"])
        drawing = Contexts(f"loss, change from {baseline(runs)}, nats", zero=True)
        return {
            _file_name(str(name)): DataPanel(name_variant(str(name)), drawing, _aggregate_seeds(rows))
            for name, rows in every.groupby("variant", sort=False)
        }


class ByDepth(Analysis):
    """Recall of facts by their place in the text: a panel for each variant and text length."""

    reach = 1

    @classmethod
    def check(cls, study, config):
        super().check(study, config)
        assert isinstance(config, LanguageRun)  # see ``family``
        if not TASKS.find(config.task["name"]).kinds:
            raise InputError(f"task={config.task['name']}: {study} needs facts; choose recall or tracking")

    def panels(self, runs, records):
        facts = by_depth(runs).assign(series=lambda d: d["arm"])
        drawing = Lines("depth", "depth of the fact", "share of right answers")
        return {
            f"{_file_name(str(name))}_{length}": DataPanel(
                f"{name_variant(str(name))}, {length} tokens",
                drawing,
                aggregate_seeds(rows, ["series", "depth"], "accuracy"),
            )
            for (name, length), rows in facts.groupby(["variant", "length"], sort=False)
        }

    def tables(self, runs, records):
        return {"depths": by_depth(runs)}


class Plain(Analysis):
    """A table of the runs, and their loss by context."""

    reach = 1

    def panels(self, runs, records):
        every = bin_by_tokens(runs, records)
        told = ["arm", "variant"] if every["variant"].nunique() > 1 or every["arm"].nunique() == 1 else ["arm"]
        names = every[told].agg(lambda row: ", ".join(filter(None, row)), axis=1)
        drawn = _aggregate_seeds(every.assign(series=names))
        return {"loss": DataPanel("loss by context", Contexts("cross-entropy, nats"), drawn)}


BY_ARM = ["series", "arm"]


def _aggregate_seeds(every: pd.DataFrame) -> pd.DataFrame:
    drawn = aggregate_seeds(every, ["series", "length"], "loss")
    return drawn.assign(train_length=every["train_length"].max())


def _sort_by_arm(drawn: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of each series in the order of the study's arms."""
    order = list(dict.fromkeys(runs["arm"]))
    return drawn.sort_values("arm", key=lambda arm: arm.map(order.index), kind="stable").reset_index(drop=True)


def _file_name(name: str) -> str:
    """Return ``yarn, fine-tuned`` as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9.+-]+", "_", name)
