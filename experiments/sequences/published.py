"""The numbers that a paper published, as a file of its folder has them, next to ours."""

from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from omegaconf import OmegaConf
from pydantic import BaseModel, Field, model_validator

from synthlab.runs.registry import STRICT, validate
from synthlab.runs.run import Length
from synthlab.sequences.run import Bin

Exact = Annotated[float, Field(ge=0, le=1)]
Quantiles = Annotated[list[Length], Field(min_length=2)]
RANGE = "published_range"  # 0 for the study's own ranges of lengths, else the published range whose lengths a row has
OURS = ["task", "arm", RANGE, "first", "last"]  # columns that identify a row of our numbers


class Source(BaseModel):
    """The source of numbers: ``where`` they are, how ``sure`` it is that they are the paper's.

    ``runs`` names the paper's runs that they belong to.
    """

    model_config = STRICT
    where: str
    sure: str
    runs: str


class Ranks(BaseModel):
    """The ``mean`` reciprocal rank of each arm over the paper's tasks and seeds, and ``where`` it is."""

    model_config = STRICT
    where: str
    mean: dict[str, Exact]


class PublishedEntry(BaseModel):
    """Exact match of one task under one encoding, in each of the paper's ranges of lengths; None where it is not given.

    Either the published mean, ``exact``; or that of each run, ``runs``, of which the paper keeps those that reach
    ``keep`` in the first range, the training lengths.
    """

    model_config = STRICT
    task: str  # as the study names it
    arm: str  # an arm of the study, an encoding
    model: str
    expected: bool | None = None  # whether it generalizes by the paper's theory, if it has one
    source: str
    exact: list[Exact | None] | None = None
    runs: list[list[Exact]] | None = None
    keep: Exact = 0.0
    note: str = ""

    @model_validator(mode="after")
    def _check_exclusive(self) -> "PublishedEntry":
        if (self.exact is None) == (self.runs is None):
            raise ValueError("either exact or runs must be given")
        return self

    def rows(self) -> list[dict[str, Any]]:
        """Return, for each range, the mean that the paper gives, ``published``, and that over all runs.

        It also has how many runs were ``kept`` of all ``trained``.
        """
        if self.runs is None:
            unknown = dict.fromkeys(("published_all", "kept", "trained"))
            return [{"published": mean, **unknown} for mean in self.exact or []]
        every = pd.DataFrame(self.runs)
        kept = every[every[0] >= self.keep]
        means = zip(kept.mean(), every.mean(), strict=True)
        counts = {"kept": len(kept), "trained": len(every)}
        return [{"published": mean, "published_all": of_all, **counts} for mean, of_all in means]


class Published(BaseModel):
    """All numbers of a paper: trained on lengths up to ``train_length``, tested in ``ranges`` of lengths.

    The training lengths come first. ``says`` explains them to a reader. ``lengths`` has the tasks that were tested at
    others: in each range the least, the greatest, and any evenly spaced quantiles between.
    """

    model_config = STRICT
    says: str
    train_length: Length
    ranges: list[Bin]
    sources: dict[str, Source]
    ranks: Ranks | None = None
    lengths: dict[str, list[Quantiles]] = Field(default_factory=dict)
    entries: list[PublishedEntry]

    def table(self) -> pd.DataFrame:
        """Return a row for each entry and range."""
        rows = []
        for entry in self.entries:
            source = self.sources[entry.source]
            told = {"task": entry.task, "arm": entry.arm, "published_model": entry.model, "expected": entry.expected}
            where = {"source": source.where, "sure": source.sure, "runs_of": source.runs, "note": entry.note}
            tested = self.lengths.get(entry.task, self.ranges)
            for number, (range_, lengths, numbers) in enumerate(zip(self.ranges, tested, entry.rows(), strict=True)):
                about = {
                    RANGE: number if entry.task in self.lengths else 0,
                    "published_first": range_[0],
                    "published_last": range_[1],
                    "published_lengths": f"{lengths[0]} to {lengths[-1]}",
                }
                rows.append(told | about | numbers | where)
        return pd.DataFrame(rows)

    def own_lengths(self, task: str, train_length: int) -> dict[int, np.ndarray]:
        """Return, by number, the ranges beyond training of a task that was tested at lengths of its own.

        Each has a hundred of these lengths, evenly spaced among those tested, as multiples of our ``train_length``.
        Empty if the lengths are the paper's ranges.
        """
        if task not in self.lengths:
            return {}
        (*_, trained), *beyond = self.lengths[task]
        shares = np.linspace(0, 1, 101)
        return {
            number: np.interp(shares, np.linspace(0, 1, len(each)), each) * train_length / trained
            for number, each in enumerate(beyond, 1)
        }


@cache
def read_published(path: Path) -> Published:
    """Return the numbers in the file at ``path``. Raises InputError for invalid ones."""
    return validate(Published, OmegaConf.to_container(OmegaConf.load(path)), path.stem)


def join_published(ours: pd.DataFrame, numbers: Published) -> pd.DataFrame:
    """Return our numbers with the published ones of the same task, arm and lengths, if there are any.

    Our numbers have columns ``OURS`` and ``train_length``.

    Lengths are the same if they are the same multiples of the training length: of 21 to 40 trained to 20 those of 51 to
    100 trained to 50. All training lengths are the same, wherever they begin. A published range that was tested at
    lengths of its own has a row of ours with the same multiples of these (``own_lengths``).
    """
    theirs = numbers.table()
    theirs["multiple"] = _multiples(
        theirs["published_first"], theirs["published_last"], numbers.train_length, theirs[RANGE]
    )
    ours = ours.assign(multiple=_multiples(ours["first"], ours["last"], ours["train_length"], ours[RANGE]))
    theirs = theirs.drop(columns=RANGE)
    found = ours.merge(theirs, on=["task", "arm", "multiple"], how="left", validate="one_to_one")
    return found.drop(columns="multiple")


def _multiples(first: pd.Series, last: pd.Series, train_length: "pd.Series | int", number: pd.Series) -> pd.Series:
    begins = ((first - 1) / train_length).where(last > train_length, 0.0)
    multiples = begins.map("{:.4f}".format) + " to " + (last / train_length).map("{:.4f}".format)
    return multiples.where(number == 0, "published range " + number.astype(str))
