"""Tables of the page, made from the committed verdicts: effects in the units in which a reader meets them."""

import pandas as pd

from synthlab.studies.study import Rows

CHANGES = {  # of training, as the table names them
    **{f"protocol.optimizer = adamw protocol.weight_decay = {each}": f"decay {each:g}" for each in (0.01, 0.1, 1.0)},
    "curriculum.start = 2": "curriculum",
}


def tabulate_powers(checks: pd.DataFrame) -> Rows:
    """Return a row for each kind of model: its best power for each q, median and interval, from log2 of power / -q.

    At q = 1 models with both logits raised are those with BOS raised, which has that number.
    """
    found: dict[str, dict[str, str]] = {}
    for check in checks[checks["claim"] == "output_alignment.power"].to_dict("records"):
        model, _, rest = check["check"].partition(", q = ")
        q = rest.partition(":")[0]
        power, low, high = (-float(q) * 2.0 ** check[each] for each in ("median", "high", "low"))
        found.setdefault(model, {})[q] = f"{power:.2f} [{low:.2f}, {high:.2f}]"
    return [
        {"model, weight changed": model, **{f"q = {q}": powers.get(q, "as BOS") for q in ("0.5", "1", "2")}}
        for model, powers in found.items()
    ]


def tabulate_changes(checks: pd.DataFrame) -> Rows:
    """Return a row for each task, map and encoding: how many times the error is that of training without a change."""
    found: dict[str, dict[str, str]] = {}
    of_training = checks["claim"].isin(["output_alignment.decay", "output_alignment.curriculum"])
    for check in checks[of_training].to_dict("records"):
        model, change = check["check"].removesuffix(": doublings of the error").rsplit(", ", 1)
        factor, low, high = (2.0 ** check[each] for each in ("median", "low", "high"))
        found.setdefault(model, {})[CHANGES[change]] = f"{factor:.3g} [{low:.3g}, {high:.3g}]"
    return [
        {"task, map, encoding": model, **{each: factors[each] for each in CHANGES.values()}}
        for model, factors in sorted(found.items())
    ]
