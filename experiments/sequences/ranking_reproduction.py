"""A reproduced paper that ranks its encodings over all its tasks."""

from collections.abc import Iterable
from typing import cast

import pandas as pd
from pydantic import Field

from experiments.sequences.published import read_published
from experiments.sequences.ranks import find_fitted_tasks, ranking, reciprocal_ranks, score_beyond
from experiments.sequences.reproduction import TaskReproduction
from synthlab.studies.evidence import Fitting, fitting_of
from synthlab.studies.verdicts import ClaimData

RANKS = ""  # the key of the ranks' evidence, which is no name of a task


class Ranked(TaskReproduction):
    """A reproduction with a table of mean reciprocal ranks of its arms; ``ranking`` names the claims on these.

    A task's own arms are not ranked, and neither is a run of a task and seed of which an arm diverged.
    """

    ranking: list[str] = Field(default_factory=list)

    @property
    def together(self) -> dict[str, list[str]]:
        return super().together | {"ranking": self.ranking}

    def count_trained(self, plan):
        cells = [cell for of_task in plan.cells.values() for cell in of_task if cell.arm in self.arms]
        return super().count_trained(plan) | {RANKS: sum(cell.seeds for cell in cells)}

    def evidence(self, plan, records):
        """Return the evidence of a reproduction; and for the ranks a row for each task, seed and arm."""
        found = super().evidence(plan, records)
        return found | {RANKS: self._ranks(found.values())}

    def claim_data(self, evidence, trained):
        runs = pd.concat([evidence[key] for key in self.tasks])
        of_all = cast(Fitting, fitting_of(runs[runs["arm"].isin(list(self.arms))], trained[RANKS]))
        fitting = of_all._replace(given=self._ranks([of_all.given]))
        return [*super().claim_data(evidence, trained), ClaimData(self.ranking, evidence[RANKS], fitting)]

    def reread(self, runs):
        tasks = super().reread(runs)
        return tasks | {RANKS: self._ranks(tasks.values())}

    def results(self, plan, records, evidence):
        found = super().results(plan, records, evidence)
        numbers, arms = read_published(self.numbers), list(self.arms)
        fitted = find_fitted_tasks(pd.concat([evidence[key] for key in self.tasks]), arms)
        table = ranking(evidence[RANKS], numbers, arms, fitted)
        return found._replace(tables={**found.tables, "ranking": table, "scores": evidence[RANKS]})

    def _ranks(self, tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
        return reciprocal_ranks(score_beyond(pd.concat(tables, ignore_index=True)), list(self.arms))
