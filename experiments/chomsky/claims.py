"""The claims of both papers, each decided in miniature. Arms are position encodings, as ``score_runs`` has them."""

from collections.abc import Mapping

import pandas as pd

from experiments.chomsky.scores import best, find_pairs, gain, score_runs, select_plain
from experiments.sequences.checks import explain_unfit
from synthlab.studies.checks import Check
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.verdicts import Claims

CLAIMS = Claims[pd.DataFrame]()
claim = CLAIMS.claim

LEVEL = 0.9
SCORE = "accuracy per token beyond training, mean over lengths"
WHY = (
    "the abstracts have no threshold; 0.9 is ours: one answer token of ten is wrong, where bits are right by chance in "
    "one of two. Nothing is tested if in fewer than half of the seeds some plain encoding fits its training lengths"
)
GAIN = f"by how much randomized positions raise the {SCORE}, mean over tasks, and without the task that it owes most to"
ANY = (
    "0: that they raise it. 12.0 points are of maxima over seeds and rates, on other lengths, and are shown beside "
    "ours without a verdict"
)


@claim(
    "C1",
    where="Ruoss et al. (2023), abstract",
    statement=(
        "Randomized positions raise the accuracy of learned positions and of RoPE at unseen lengths, on average over "
        "tasks (published: by 12.0 points)."
    ),
    quantity=GAIN,
    why=ANY,
)
def raise_each(runs: pd.DataFrame) -> list[Check]:
    """Check that the gain of randomized positions is positive for each encoding."""
    table = score_runs(runs)
    return _raise({arm: gain(table, arm) for arm in _find_paired(table)})


@claim(
    "C1_best",
    where="Ruoss et al. (2023), abstract",
    statement="Randomized positions raise the accuracy of the best encoding at unseen lengths, on average over tasks.",
    quantity=f"{GAIN}; of the best encoding, chosen for each task and seed",
    why=ANY,
)
def raise_best(runs: pd.DataFrame) -> list[Check]:
    """Check that the gain of randomized positions is positive for the best encoding."""
    table = score_runs(runs)
    _find_paired(table)
    return _raise({"best encoding of each task and seed": best(table, True) - best(table, False)})


def _find_paired(table: pd.DataFrame) -> list[str]:
    """Return the encodings with runs both with randomized positions and without.

    Raises NoEvidence if there are none.
    """
    if not find_pairs(table):
        raise NoEvidence("no encoding that is there with randomized positions and without")
    return find_pairs(table)


def _raise(gains: Mapping[str, pd.Series]) -> list[Check]:
    """Check that the mean over tasks of each of ``gains`` is positive, also without the task with the largest gain.

    ``gains`` has a value for each task and seed. Seeds that lack a task are left out: tasks differ by far more than
    seeds.
    """
    found = []
    for what, of_runs in gains.items():
        table = of_runs.unstack("task").dropna()
        if table.empty:
            raise NoEvidence(f"{what}: no seed whose runs of all tasks are finished")
        without = {task: table.drop(columns=task).mean(axis="columns") for task in table if table.shape[1] > 1}
        found.append(_is_positive(f"{what}: gain, mean over {table.shape[1]} tasks", table.mean(axis="columns")))
        if without:
            least = min(without, key=lambda task: without[task].median())
            found.append(_is_positive(f"{what}: gain without {least}, mean over the others", without[least]))
    return found


def _is_positive(what: str, gains: pd.Series) -> Check:
    return Check(what, gains.to_numpy(), low=0.0)


def stays_low(runs: pd.DataFrame) -> list[Check]:
    """Check that no task generalizes under a plain encoding: the best of them stays below ``LEVEL`` for each seed."""
    table = score_runs(runs)
    arms = select_plain(table)
    if not arms:
        raise NoEvidence("no encoding without randomized positions")
    values = best(table, False).dropna().to_numpy()
    judged = runs[runs["arm"].isin(arms)]
    series, untested = tuple(dict.fromkeys(judged["series"])), explain_unfit(judged.groupby("seed")["fit"].any())
    what = f"{runs['task'].iloc[0]}, best of {', '.join(arms)}: accuracy per token"
    return [Check(what, values, high=LEVEL, series=series, untested=untested)]


claim(
    "C2",
    where="Delétang et al. (2022), abstract; of duplicate string also Ruoss et al. (2023), abstract",
    statement="Transformers do not generalize (ours: to 90 % of the tokens right) on tasks that are not regular.",
    quantity=f"{SCORE}: of the best plain encoding, chosen for each seed",
    why=WHY,
)(stays_low)
