"""The runs of a command: missing ones are trained, under ``seeds=auto`` in several rounds."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from synthlab.config.base import Config
from synthlab.output import tell
from synthlab.storage.records import Record
from synthlab.storage.store import Store
from synthlab.studies.rounds import claims_of, find_undecided, plan_round
from synthlab.studies.seeds import AUTO, LOOKS
from synthlab.studies.study import Plan
from synthlab.studies.verdicts import Claim
from synthlab.sweeps.sweep import ensure, require_recorded
from synthlab.sweeps.trackers import Tracker


class StudyRuns(NamedTuple):
    """The store of the runs, and how to train those that are missing; with ``replot`` none is trained."""

    store: Store
    replot: bool
    workers: int
    device: str
    tracker: Tracker | None

    def check(self, configs: Iterable[Config]) -> None:
        """Raise InputError if runs are missing and none may be trained, or if their weights cannot be saved."""
        every = list(configs)
        if self.replot:
            require_recorded(every, self.store)
        for config in every:
            self.store.steps(config)

    def find_missing(self, configs: Iterable[Config]) -> list[Config]:
        """Return the runs that are to be trained."""
        return [config for config in configs if not self.store.holds(config)]

    def announce(self, why: str, number: int, seconds: float = 0.0) -> None:
        """Print on standard error the purpose of a round, its number of runs, and its duration.

        The duration is given for runs that take ``seconds`` on one process.
        """
        cost = f", about {seconds / self.workers:.0f} s" if seconds else ""
        if not self.replot:
            tell(f"seeds={AUTO}: {why}; runs to train: {number}{cost}")

    def ensure(self, configs: Iterable[Config]) -> dict[str, Record]:
        """Return the records of all runs, by identity. With ``replot``, raises InputError for a damaged one."""
        if self.replot:
            return {config.id: self.store.read(config.id) for config in configs}
        found = ensure(list(configs), self.store, self.workers, device=self.device, tracker=self.tracker)
        return {record.config.id: record for record in found}


def train_in_rounds(
    plans: Sequence[Plan], runs: StudyRuns, claims: Mapping[str, Claim[Any]]
) -> tuple[Sequence[Plan], dict[str, Record], list[str]]:
    """Train the runs of all studies; those whose seeds are ``auto`` get more until the ``claims`` are decided.

    Before each round, a line on standard error tells its purpose and cost.

    Returns:
        The studies with all their seeds; the records, by identity; and a line on undecided claims, if any seeds are
        ``auto``.

    Raises:
        InputError: A run is missing and may not be trained, or a claim names a series that does not exist.
    """
    is_auto = any(plan.auto for plan in plans)
    if is_auto:
        every = {config.id: config for plan in plans if plan.auto for config in plan.configs}.values()
        runs.announce(f"every series begins with {LOOKS[0]} seeds", len(runs.find_missing(every)))
    records = runs.ensure(config for plan in plans for config in plan.configs)
    while further := plan_round(plans, checks := find_undecided(plans, records, claims), records):
        plans = further.plans
        added = {config.id: config for plan in plans for config in plan.configs if config.id not in records}.values()
        runs.check(added)
        missing = runs.find_missing(added)
        runs.announce(further.why, len(missing), sum(further.seconds[config.id] for config in missing))
        records |= runs.ensure(added)
    if not is_auto:
        return plans, records, []
    left = f"still undecided: {claims_of(checks)}" if checks else "no check is undecided"
    return plans, records, [f"seeds={AUTO}: {left}"]
