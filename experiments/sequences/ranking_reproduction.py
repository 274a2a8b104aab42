"""A paper trained again that ranks its encodings over all its tasks."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import pandas as pd
from pydantic import Field

from experiments.sequences.published import read_published
from experiments.sequences.ranks import find_fitted_tasks, ranking, reciprocal_ranks, score_beyond
from experiments.sequences.reproduction import Reproduction
from synthlab.errors import InputError
from synthlab.studies.evidence import Fitting, fitting_of
from synthlab.studies.grids import Grid
from synthlab.studies.study import Plan

RANKS = "ranks"  # the grid of all runs that are ranked, which are those of the tasks


class Ranked(Reproduction):
    """A reproduction, and beside it a table of mean reciprocal ranks of its arms; ``ranking`` names the claims that are
    judged on these. A task's own arms are not ranked, and neither is a run of a task and seed of which an arm diverged.
    """

    further_names: ClassVar[tuple[str, ...]] = (*Reproduction.further_names, "ranking", "scores")
    ranking: list[str] = Field(default_factory=list)

    @property
    def grids(self) -> Mapping[str, Grid]:
        found = super().grids
        every = {
            f"{task} {arm}": grid.fixed | settings
            for task, grid in found.items()
            for arm, settings in grid.arms.items()
            if arm in self.arms
        }
        return {**found, RANKS: Grid(arms=every, claims=self.ranking)}

    def place(self, field, key):
        return f"{field}.ranking" if key == RANKS else super().place(field, key)

    def check(self, field):
        super().check(field)
        for key, task in self.tasks.items():
            if task.tune:
                raise InputError(f"{self.place(field, key)}.tune: tasks whose encodings are ranked are not tuned")
            if key == RANKS:
                raise InputError(f"{self.place(field, key)}: must be called otherwise")

    def evidence(self, plan, records):
        """As of every reproduction; and of the ranks a row for each task, seed and arm."""
        found = super().evidence(_drop_ranks(plan), records)
        return found | {RANKS: self._ranks(found.values())}

    def grounds(self, evidence, trained):
        runs = pd.concat([evidence[key] for key in self.tasks])
        of_all = cast(Fitting, fitting_of(runs[runs["arm"].isin(list(self.arms))], trained[RANKS]))
        fitting = of_all._replace(given=self._ranks([of_all.given]))
        found = super().grounds(evidence, trained)
        return [each._replace(fitting=fitting) if each.given is evidence[RANKS] else each for each in found]

    def reread(self, runs):
        tasks = super().reread(runs)
        return tasks | {RANKS: self._ranks(tasks.values())}

    def results(self, plan, records, evidence):
        tasks = {key: evidence[key] for key in self.tasks}
        found = super().results(_drop_ranks(plan), records, tasks)
        numbers = read_published(self.numbers)
        arms = list(self.arms)
        fitted = find_fitted_tasks(pd.concat(tasks.values()), arms)
        table = ranking(evidence[RANKS], numbers, arms, fitted)
        where = [numbers.ranks.where] if numbers.ranks else []
        return found._replace(
            tables={**found.tables, "ranking": table, "scores": evidence[RANKS]},
            lines=[*found.lines, f"{plan.name}: mean reciprocal rank", *where, *_describe_ranks(table)],
        )

    def _ranks(self, tables: Any) -> pd.DataFrame:
        return reciprocal_ranks(score_beyond(pd.concat(tables, ignore_index=True)), list(self.arms))


def _drop_ranks(plan: Plan) -> Plan:
    """Without the grid of ranks, whose runs are those of the tasks."""
    return plan._replace(cells={key: cells for key, cells in plan.cells.items() if key != RANKS})


def _describe_ranks(table: pd.DataFrame) -> list[str]:
    shown = table.drop(columns=["shared", "tasks_fitted", "seeds"]).set_index("arm").rename_axis(None)
    of = {name: table[name].iloc[0] for name in ("seeds", "shared", "tasks_fitted")}
    about = (
        f"over {of['seeds']} seeds; theirs and ours_on_these: {of['shared'] or 'no task'}; fitted by most of each: "
        f"{of['tasks_fitted'] or 'no task'}"
    )
    return [*shown.to_string(float_format="{:.3f}".format, na_rep="").splitlines(), about]
