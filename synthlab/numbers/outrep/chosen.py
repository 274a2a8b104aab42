"""A map of the target that each run selects before training, by its error at held-out training lengths."""

from typing import Annotated, Any

import torch
from pydantic import Field
from torch import nn

from synthlab.errors import InputError
from synthlab.numbers.outrep.base import REALS, OutRepModule
from synthlab.runs.sources import HASH
from synthlab.styles import DASHES, SILVER, Style


class Chosen(OutRepModule):
    """The map among ``candidates`` with the smallest error at the longest training lengths.

    A run trains a model for each candidate on its shorter training lengths; it holds out the longest, a share
    ``held_out`` of the lengths. It selects the candidate with the least score, and trains on all of its lengths with
    that map. The score is the relative error, averaged over the held-out lengths. No longer sequence is drawn.

    A candidate is the name of a map, or its name and settings. ``shift`` applies to candidates without one of their
    own; null is each one's default.
    """

    style = Style("chosen", SILVER, DASHES, "p")

    domain = image = REALS

    def __init__(
        self,
        shift: float | None,
        candidates: Annotated[list[str | dict[str, Any]], Field(min_length=2)],
        held_out: Annotated[float, Field(gt=0, lt=1)],
    ):
        from synthlab.numbers.outrep import OUTREPS  # not at the top: that module imports this class

        super().__init__(0.0)  # candidates have shifts of their own
        self.held_out = held_out
        named = [{"name": each} if isinstance(each, str) else each for each in candidates]
        self.candidates = [{"shift": shift, **each} for each in named]
        self.maps = [OUTREPS.build(each, field="outrep.candidates") for each in self.candidates]
        for name, made in zip(self.names, self.maps, strict=True):
            if isinstance(made, OutRepModule):
                raise InputError(f"outrep.candidates={name}: must be a map without parameters")

    @property
    def names(self) -> list[str]:
        """The name of each candidate."""
        return [
            " ".join([str(each["name"]), *(f"{k}={v}" for k, v in each.items() if k not in ("name", "shift", HASH))])
            for each in self.candidates
        ]

    def complete(self, config, smallest, largest):
        from synthlab.numbers.outrep import OUTREPS

        pairs = zip(self.candidates, self.maps, strict=True)
        candidates = [made.complete(each, smallest, largest) for each, made in pairs]
        return {**config, "candidates": [OUTREPS.with_source(each, "outrep.candidates") for each in candidates]}

    def initialise(self, generators):
        """Create the parameter for the score of each candidate, for each model."""
        self.scores = nn.Parameter(torch.zeros(len(generators), len(self.maps)), requires_grad=False)

    def member(self, index):
        """Return the map that one model has chosen; before it has, the first candidate."""
        return self.maps[int(self.scores[index].argmin())]

    def f(self, x):
        return self.member(0).forward(x)

    def f_inverse(self, z):
        return self.member(0).inverse(z)
