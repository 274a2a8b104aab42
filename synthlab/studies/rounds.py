"""Adaptive numbers of seeds: with ``seeds=auto`` the series of undecided checks get more until they are decided.

Every series starts with five seeds. When they are trained, the claims are judged. Then the checks that are undecided,
or that fail without deciding their claim, get more seeds (``Verdict.open_checks``): of the series of each such check,
those with the fewest seeds get the number of the next look (``study.LOOKS``). That is repeated until no check is open
or all have 20 seeds. Each step depends on the records only, so the same records give the same rounds. The error rate of
a check does not depend on the number of rounds (``intervals``). For a series that is tuned, this is true only while the
same setting remains the best.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from synthlab.output import print_err
from synthlab.runs.run import Run
from synthlab.storage.records import Record
from synthlab.storage.store import Store
from synthlab.studies.grids import Cell
from synthlab.studies.study import AUTO, LOOKS, Plan
from synthlab.studies.verdicts import Claim, ClaimData, judge
from synthlab.sweeps.sweep import ensure, require_recorded
from synthlab.sweeps.trackers import Tracker


class Open(NamedTuple):
    """An undecided check of a claim, and its series in ``grid``: none if no more seeds would decide it."""

    claim: str
    grid: str
    series: list[Cell]


def find_undecided(
    plans: Sequence[Plan], records: Mapping[str, Record], claims: Mapping[str, Claim[Any]]
) -> list[Open]:
    """Return the undecided checks of those studies whose seeds are ``auto``."""
    found = []
    for plan in (plan for plan in plans if plan.auto):
        evidence = plan.study.evidence(plan, records)
        for key, grid in plan.study.grids.items():
            by_label = {cell.label: cell for cell in plan.cells[key]}
            for verdict in judge(claims.values(), plan.figure, [ClaimData(grid.claims, evidence[key])]):
                for check in verdict.open_checks:
                    about = [by_label[name] for name in check.series or by_label] if check.estimate is None else []
                    found.append(Open(verdict.claim.name, f"{plan.name}{key}", about))
    return found


def plan_round(plans: Sequence[Plan], checks: Sequence[Open]) -> tuple[list[Plan], str] | None:
    """Return the studies with more seeds for the series of the undecided ``checks``, and the reason in words.

    None if no series may have more: all have had the last look, or have one run, which does not depend on the seed.
    """
    wanted: dict[tuple[str, ...], int] = {}
    series: dict[tuple[str, int], dict[str, None]] = {}
    for check in checks:
        fewest = min((cell.seeds for cell in check.series), default=0)
        following = next((look for look in LOOKS if LOOKS[0] <= fewest < look), None)
        for cell in check.series:
            if following and cell.seeds == fewest:
                wanted[cell.identity] = following
                series.setdefault((check.grid, following), {})[cell.label] = None
    told = [f"{grid}: {', '.join(labels)} get {seeds} seeds" for (grid, seeds), labels in series.items()]
    why = f"{claims_of(checks)} not decided; {'; '.join(told)}"
    return ([plan.extend(wanted) for plan in plans], why) if wanted else None


def claims_of(checks: Sequence[Open]) -> str:
    """Return the claims of the undecided ``checks``, by name."""
    return ", ".join(dict.fromkeys(check.claim for check in checks))


class StudyRuns(NamedTuple):
    """The store of the runs, and how to train those that are missing; with ``replot`` none is trained."""

    store: Store
    replot: bool
    workers: int
    device: str
    tracker: Tracker | None

    def check(self, configs: Sequence[Run]) -> None:
        """Raise InputError if runs are missing and none may be trained, or if their weights cannot be saved."""
        if self.replot:
            require_recorded(configs, self.store)
        for config in configs:
            self.store.steps(config)

    def ensure(self, configs: Iterable[Run], why: str = "") -> dict[str, Record]:
        """Return the records of all runs, by identity; tell first ``why`` they are needed, and how many are missing.

        With ``replot``, raises InputError for a damaged record.
        """
        by_id = {config.id: config for config in configs}
        if self.replot:
            return {key: self.store.read(key) for key in by_id}
        if why:
            missing = sum(not self.store.is_recorded(config) for config in by_id.values())
            print_err(f"seeds={AUTO}: {why}; runs to train: {missing}")
        found = ensure(list(by_id.values()), self.store, self.workers, device=self.device, tracker=self.tracker)
        return {record.config.id: record for record in found}


def train_in_rounds(
    plans: Sequence[Plan], runs: StudyRuns, claims: Mapping[str, Claim[Any]]
) -> tuple[Sequence[Plan], dict[str, Record], list[str]]:
    """Train the runs of all studies; those whose seeds are ``auto`` get more until the ``claims`` are decided.

    Before each round, a line on standard error tells its purpose and number of runs.

    Returns:
        The studies with all their seeds; the records, by identity; and a line on undecided claims, if any seeds are
        ``auto``.

    Raises:
        InputError: A run is missing and may not be trained.
    """
    is_auto = any(plan.auto for plan in plans)
    first = f"every series begins with {LOOKS[0]} seeds" if is_auto else ""
    records = runs.ensure((config for plan in plans for config in plan.configs), first)
    while further := plan_round(plans, checks := find_undecided(plans, records, claims)):
        plans, why = further
        added = [config for plan in plans for config in plan.configs if config.id not in records]
        runs.check(added)
        records |= runs.ensure(added, why)
    if not is_auto:
        return plans, records, []
    left = f"still undecided: {claims_of(checks)}" if checks else "no check is undecided"
    return plans, records, [f"seeds={AUTO}: {left}"]
