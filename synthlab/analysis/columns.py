"""The columns of a table of runs: which are settings, groups or metrics, according to the kinds of its runs."""

from collections.abc import Iterable

import pandas as pd

from synthlab.config.base import Config, kind_of
from synthlab.errors import InputError
from synthlab.metrics import Measures, Metric

HORIZON = "horizon"
STEP, TRAINING_LOSS = "step", "training_loss"  # columns of tables of training curves


def kinds_of(table: pd.DataFrame) -> list[type[Config]]:
    """Return the kinds of the runs in ``table``, by its column ``kind``. Raises UnknownKind."""
    return [kind_of({"kind": name}) for name in table["kind"].unique()]


def is_setting(kinds: Iterable[type[Config]], column: object) -> bool:
    """Return whether ``column`` is a setting of runs of any of ``kinds``."""
    name = str(column).split(".")[0]
    return name != "kind" and any(name in kind.model_fields for kind in kinds)


def groups_of_kinds(kinds: Iterable[type[Config]]) -> list[str]:
    """Return the config groups of runs of ``kinds``: a series that differs in one alone is called by its member."""
    return list(dict.fromkeys(group for kind in kinds for group in kind.groups()))


def metric_of(kinds: Iterable[type[Config]], name: str) -> Metric:
    """Return the meaning of ``name`` for runs of ``kinds``: a metric, the horizon, or a column of the user.

    Raises InputError for a metric that means several things.
    """
    kinds = list(kinds)
    if name == HORIZON:
        criteria = dict.fromkeys(criterion for kind in kinds if (criterion := kind.measures().criterion))
        return Metric(f"length up to which the {', or the '.join(criteria)}", "higher")
    if name == TRAINING_LOSS:
        return Metric("training loss", "lower", "log")
    meanings = {m.metrics[name]: kind for kind in kinds if name in (m := kind.measures()).metrics}
    if len(meanings) > 1:
        each = "; ".join(f"with {kind.answer} for an answer: {metric.meaning}" for metric, kind in meanings.items())
        raise InputError(
            f"metric={name}: has different meanings for these runs, which cannot share an axis ({each}); "
            f"{_suggest_choices(kinds)}"
        )
    return next(iter(meanings), Metric(name))


def primary_of(kinds: Iterable[type[Config]]) -> str:
    """Return the primary metric of runs of ``kinds``. Raises InputError if they have none in common."""
    kinds = list(kinds)
    primary = {(m.primary, m.metrics[m.primary]): kind for kind in kinds if (m := kind.measures())}
    if len(primary) > 1:
        each = ", ".join(f"{name} with {kind.answer} for an answer" for (name, _), kind in primary.items())
        raise InputError(
            f"metric: must be given: the runs have no primary metric in common ({each}); {_suggest_choices(kinds)}"
        )
    return next(iter(primary))[0]


def find_lacking(kinds: Iterable[type[Config]], name: str) -> list[str]:
    """Return the kinds, by name, whose runs lack the metric ``name`` that others have."""
    names = {kind.model_fields["kind"].default: _names(kind.measures()) for kind in kinds}
    return (
        [kind for kind, own in names.items() if name not in own] if any(name in own for own in names.values()) else []
    )


def _names(measures: Measures) -> list[str]:
    return [*measures.metrics, *[HORIZON] * (measures.criterion is not None)]


def _suggest_choices(kinds: list[type[Config]]) -> str:
    first, *others = (kind.measures() for kind in kinds)
    shared = [
        name
        for name in _names(first)
        if all(name in _names(m) and m.metrics.get(name) == first.metrics.get(name) for m in others)
    ]
    or_metric = f", or a metric that they share: {', '.join(shared)}" if shared else ""
    return f"choose runs of one family (where task=...){or_metric}"
