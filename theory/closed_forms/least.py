"""The minimal error of linear attention, for plots next to a trained model."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from synthlab.errors import InputError
from synthlab.numbers.outrep import OUTREPS
from synthlab.numbers.run import NumbersRun
from theory.closed_forms.numeric import expected_errors
from theory.closed_forms.optima import optimum

LONGEST = 30  # the longest training length whose exact optimum under a map is computed interactively (1 s)


def least_error(config: NumbersRun) -> tuple[list[float], str]:
    """Return the expected error at each length of linear attention's exact optimum for a run.

    It is for the run's task, training lengths and map, with the run's head dimension or 2. If it is unknown, there are
    no errors, and one line gives the reason.
    """
    outrep = OUTREPS.build(config.outrep)
    settings: Mapping[str, Any] = config.model if config.model["name"] == "linear" else {"head_dim": 2, "bos": False}
    if config.inputs != {"name": "bernoulli", "p": 0.5}:
        return [], "theory: known for inputs=bernoulli with p=0.5 only"
    if config.train_length > LONGEST and config.outrep["name"] != "identity":
        return [], f"theory: under a map it takes long beyond training length {LONGEST}; take a shorter one"
    try:
        best = optimum(
            config.task["name"],
            config.train_length,
            settings["head_dim"],
            outrep=config.outrep["name"],
            shift=outrep.shift,
            bos=settings["bos"],
        )
    except InputError as error:
        return [], f"theory: {error.lines[0]}"
    outputs = np.array([[float(entry) for entry in row] for row in best.outputs.tolist()])
    errors, _ = expected_errors(outputs, config.task["name"], outrep, config.evaluation.largest, config.test_length)
    return errors.tolist(), ""
