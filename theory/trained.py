"""The comparison of exact optima with trained models."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from sympy import Matrix

from synthlab.errors import InputError
from synthlab.numbers.outrep import OUTREPS
from synthlab.numbers.run import NumbersRun
from synthlab.runs.composition import Composer, settings_of
from synthlab.runs.registry import show
from synthlab.runs.run import resolve
from synthlab.storage.records import Record
from theory.closed_forms.linear_attention import TARGETS
from theory.closed_forms.maps import FUNCTIONS
from theory.closed_forms.numeric import expected_errors
from theory.closed_forms.optima import Optimum, optimum, paper_optimum

LOSS_AGREES, ERROR_AGREES = 0.01, 0.02  # relative differences within which training and theory agree
SETTABLE = ("protocol", "model", "evaluation")  # config groups of the runs that the theory does not set itself
MODELS_OF = {"linear": "linear", "softmax": "transformer"}
ZERO = 1e-9  # a smaller loss or error counts as 0
# Maps and shifts of the length task that are trained, without and with BOS; others are plotted from theory only.
TRAINED_MAPS = {
    False: {("identity", 0), ("rsqrt", 0), ("reciprocal", 0)},
    True: {("identity", 0), ("reciprocal", 0), ("reciprocal", 1)},
}
SHIFTS = (0, 1)  # of the maps; the plain target has none, since it would not change predictions


class Case(NamedTuple):
    """A model, and the task and output map that it is trained on."""

    model: str  # linear or softmax
    task: str
    head_dim: int = 0
    outrep: str = "identity"
    shift: int = 0
    bos: bool = False

    def settings(self) -> dict[str, Any]:
        """Return the overrides for the command line of ``synthlab``."""
        common = {"task": self.task, "outrep": self.outrep, "outrep.shift": float(self.shift)}
        return common | ({"model.head_dim": self.head_dim, "model.bos": self.bos} if self.model == "linear" else {})

    def optimum(self, train_length: int) -> Optimum:
        """Return the exact optimum of the linear model."""
        return optimum(self.task, train_length, self.head_dim, outrep=self.outrep, shift=self.shift, bos=self.bos)


def plain_cases(head_dims: Iterable[int]) -> list[Case]:
    """Return every task with linear attention of each head dimension, and with softmax attention."""
    linear = [Case("linear", task, head_dim) for task in TARGETS for head_dim in head_dims]
    return linear + [Case("softmax", task) for task in TARGETS]


def mapped_cases() -> list[Case]:
    """Return the length task under every map with each shift, for linear attention without and with BOS."""
    return [
        Case("linear", "length", 2, outrep, shift, bos)
        for bos in (False, True)
        for outrep in FUNCTIONS
        for shift in (SHIFTS if outrep != "identity" else (0,))
    ]


def list_configs(
    cases: Iterable[Case], trained: Mapping[str, Mapping[str, Any]], lengths: Mapping[str, int], seeds: int
) -> dict[Case, list[NumbersRun]]:
    """Return the runs of each case, one for each seed.

    ``trained`` has the settings of each model's runs, ``lengths`` the training and test length. Raises InputError.
    """
    chosen = {model: dict(settings_of(settings)) for model, settings in trained.items()}
    for model, settings in chosen.items():
        for key, value in settings.items():
            if key.split(".")[0] not in SETTABLE or (key == "model" and value != MODELS_OF[model]):
                raise InputError(
                    f"trained.{model}.{key}={show(value)}: must be a setting of {', '.join(SETTABLE)} "
                    f"for model={MODELS_OF[model]}"
                )
    base = Composer()
    runs = {}
    for case in cases:
        settings = {**chosen[case.model], **lengths, **case.settings()}
        config = resolve(base.compose(settings))
        runs[case] = [config.with_seeds({"seed": seed}) for seed in range(seeds)]
    return runs


def comparison(runs: Mapping[Case, Sequence[NumbersRun]], found: Mapping[Case, Sequence[Record]]) -> pd.DataFrame:
    """Return a row for each case of ``runs`` and each length: the median error over the seeds, with its range.

    The records ``found`` have the seeds. Errors are on the original scale. For linear attention there is also the error
    of the exact optimum and, for plain targets, that of the paper's.

    For linear attention the error is the expected one, computed from M; for softmax it is that on the test sequences.
    """
    tables = [_compare(case, configs[0], found.get(case, ())) for case, configs in runs.items()]
    return pd.concat(tables, ignore_index=True)


def _compare(case: Case, config: NumbersRun, records: Sequence[Record]) -> pd.DataFrame:
    finished = [record for record in records if record.diverged_at is None]
    frame = pd.DataFrame({**case._asdict(), "length": range(1, config.test_length + 1)})
    frame = frame.assign(median=np.nan, low=np.nan, high=np.nan, seeds=len(finished), train_length=config.train_length)
    if finished:
        errors = [
            record.metrics["mse"] if record.outputs is None else _errors(record.outputs, case, config)[0]
            for record in finished
        ]
        frame = frame.assign(median=np.median(errors, 0), low=np.min(errors, 0), high=np.max(errors, 0))
    if case.model == "linear":
        frame["exact"] = _errors(case.optimum(config.train_length).outputs, case, config)[0]
        if case.outrep == "identity" and not case.bos:
            frame["paper"] = _errors(paper_optimum(case.task, config.train_length).outputs, case, config)[0]
    return frame


def agreement(found: Mapping[Case, Sequence[Record]]) -> pd.DataFrame:
    """Return a row for each run of linear attention: its M, loss and error, compared with the exact optimum.

    The loss is the expected training loss of M (in representation space), next to the exact minimum. The error is the
    largest relative difference from the exact one over all lengths.

    If the exact value is 0 (less than ``ZERO``), the trained value itself, or 0 if it is that small too, replaces the
    relative difference.
    """
    rows = [_agreement(case, record) for case, runs in found.items() if case.model == "linear" for record in runs]
    return pd.DataFrame(rows)


def _agreement(case: Case, record: Record) -> dict[str, Any]:
    config = cast(NumbersRun, record.config)  # these runs are all of that kind
    best = case.optimum(config.train_length)
    row = case._asdict() | {"seed": config.seed, "is_unique": best.is_unique, "exact_loss": float(best.loss)}
    if record.diverged_at is not None:
        return row | {"loss": np.nan, "loss_off": np.nan, "error_off": np.nan, "agrees": False}
    trained = cast(pd.DataFrame, record.outputs)  # what a finished run of linear attention records
    errors, represented = _errors(trained, case, config)
    loss = float(represented[: config.train_length].mean())
    error_off = _off(errors, _errors(best.outputs, case, config)[0])
    loss_off = float(_off(loss, float(best.loss)))
    named = {f"M{row}{column}": trained.iloc[row][str(column)] for row in (0, 1) for column in trained}
    return (
        row
        | named
        | {
            "loss": loss,
            "loss_off": loss_off,
            "error_off": float(error_off.max()),
            "at_length": int(error_off.argmax()) + 1,
            "agrees": bool(loss_off <= LOSS_AGREES and error_off.max() <= ERROR_AGREES),
        }
    )


def _errors(outputs: Any, case: Case, config: NumbersRun) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected errors of M, on the original scale and in representation space."""
    matrix = np.array(outputs.tolist() if isinstance(outputs, Matrix) else outputs, dtype=float)
    return expected_errors(
        matrix, case.task, OUTREPS.build(config.outrep), config.evaluation.largest, config.test_length
    )


def _off(value: Any, exact: Any) -> Any:
    value, exact = np.abs(value), np.abs(exact)
    relative = np.abs(value / np.where(exact < ZERO, 1, exact) - 1)
    return np.where(exact < ZERO, np.where(value < ZERO, 0.0, value), relative)
