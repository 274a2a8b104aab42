"""Mean reciprocal rank: which encoding is better than which, by task and seed."""

from collections.abc import Sequence

import pandas as pd

from experiments.sequences.published import RANGE, Published
from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence

RUN = ["task", "seed", "arm"]


def score_beyond(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the ``score`` of each run: exact match beyond the training lengths, with equal weight for all.

    Where ``runs`` have them, the result has the model's ``width`` and the ``scale`` that its encoding begins with.

    Args:
        runs: A row for each run and range of lengths.
    """
    weighted = runs.assign(lengths=runs["last"] - runs["first"] + 1)
    found = mean_beyond(weighted, "exact", "lengths").astype(float).rename("score").reset_index()
    model = [name for name in ("width", "scale") if name in runs]
    return found.merge(runs[[*RUN, *model]].drop_duplicates(), on=RUN) if model else found


def mean_beyond(runs: pd.DataFrame, metric: str, weight: str) -> pd.Series:
    """Return the mean of ``metric`` over each run's ranges beyond training, weighted by ``weight``.

    It is by task, seed and arm.
    """
    beyond = runs[(runs["first"] > runs["train_length"]) & (runs[RANGE] == 0)]
    summed = beyond.assign(weighted=beyond[metric] * beyond[weight]).groupby(RUN, sort=False)
    total = summed[["weighted", weight]].sum()
    return total["weighted"] / total[weight]


def reciprocal_ranks(scored: pd.DataFrame, arms: list[str]) -> pd.DataFrame:
    """Return the runs with their ``reciprocal`` rank among those of the same task and seed, 1 for the best.

    Equal scores share the mean of their ranks. A task and seed that lacks one of ``arms`` is left out.
    """
    among = scored[scored["arm"].isin(arms)]
    each = among.groupby(["task", "seed"])["score"]
    ranked = among.assign(reciprocal=1 / each.rank(ascending=False))
    return ranked[each.transform("size") == len(arms)].reset_index(drop=True)


def mean_by_seed(ranks: pd.DataFrame) -> pd.DataFrame:
    """Return the mean reciprocal rank over tasks: a row for each seed, a column for each arm.

    A seed that lacks a task of other seeds is left out, since its mean is not comparable.
    """
    per_seed = ranks.groupby("seed")["task"].nunique()
    whole = per_seed[per_seed == ranks["task"].nunique()].index
    return ranks[ranks["seed"].isin(whole)].pivot_table("reciprocal", "seed", "arm")


def check_above(ranks: pd.DataFrame, arm: str, other: str) -> Check:
    """Check that the mean reciprocal rank of ``arm`` is greater than that of ``other``.

    Raises NoEvidence if no seed has both on all tasks.
    """
    means = mean_by_seed(ranks)
    if means.empty or not {arm, other} <= set(means):
        raise NoEvidence(f"no seed with finished runs of {arm} and {other} on every task")
    # A range excludes only its upper end, so encodings that are equal do not pass.
    return Check(f"mean reciprocal rank, {other} less {arm}", (means[other] - means[arm]).to_numpy(), high=0.0)


def score_published(numbers: Published) -> pd.DataFrame:
    """Return ``score_beyond`` of the runs that a paper gives one by one; a run counts as a seed."""
    rows = [
        {"task": entry.task, "arm": entry.arm, "seed": seed, "first": first, "last": last, "exact": exact}
        for entry in numbers.entries
        for seed, run in enumerate(entry.runs or [])
        for (first, last), exact in zip(numbers.ranges, run, strict=True)
    ]
    columns = [*RUN, "first", "last", "exact"]
    return score_beyond(pd.DataFrame(rows, columns=columns).assign(train_length=numbers.train_length, **{RANGE: 0}))


def ranking(ours: pd.DataFrame, numbers: Published, arms: list[str], fitted: Sequence[str] = ()) -> pd.DataFrame:
    """Return a row for each arm with published and reproduced mean reciprocal ranks.

    ``published`` is the paper's number. On those of our tasks that have published runs, ``theirs`` is that of these
    runs, by our rule for equal scores, and ``ours_on_these`` is ours. ``ours`` is over all tasks, the median over
    seeds, with ``least`` and ``greatest``; further columns have ours over the tasks that are ``fitted`` and over the
    ``others``.

    Args:
        ours: The table of ``reciprocal_ranks`` for our runs.
        numbers: The numbers that the paper published.
        arms: The encodings that are ranked.
        fitted: The tasks that most runs of each of these fit.
    """
    scored = score_published(numbers)
    shared = sorted(set(scored["task"]) & set(ours["task"]))
    theirs = mean_by_seed(reciprocal_ranks(scored[scored["task"].isin(shared)], arms)).mean()
    on_these = mean_by_seed(ours[ours["task"].isin(shared)]).median()
    means, is_fitted = mean_by_seed(ours), ours["task"].isin(fitted)
    published = pd.Series(numbers.ranks.mean if numbers.ranks else {}, dtype=float)
    columns = {
        "published": published,
        "theirs": theirs,
        "ours_on_these": on_these,
        "ours": means.median(),
        "least": means.min(),
        "greatest": means.max(),
        "fitted": mean_by_seed(ours[is_fitted]).median(),
        "others": mean_by_seed(ours[~is_fitted]).median(),
    }
    table = pd.DataFrame(columns, index=pd.Index(arms, name="arm"))
    about = {"shared": " ".join(shared), "tasks_fitted": " ".join(fitted), "seeds": len(means)}
    return table.reset_index().assign(**about)


def find_fitted_tasks(runs: pd.DataFrame, arms: list[str]) -> list[str]:
    """Return the tasks that most runs of each of the ``arms`` fit."""
    shares = runs[runs["arm"].isin(arms)].drop_duplicates("run").groupby(["task", "arm"], sort=False)["fit"].mean()
    least = shares.groupby("task", sort=False).min()
    return [str(task) for task in least[least > 0.5].index]
