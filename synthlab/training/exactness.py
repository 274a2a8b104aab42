"""Whether runs compute in an ensemble, to the last bit, what each computes alone.

Matrix products are rounded alike at every place in memory if each model's numbers fill vectors of four, as measured on
some processors; libraries do not promise it. So runs of other shapes train alone, and each shape that fills vectors is
tested once in a process, by a few training steps. Evaluation takes one model at a time. See ``optimizers.ALIGNMENT``.
"""

from collections.abc import Sequence

import torch

from synthlab.config.base import Config
from synthlab.training.devices import use_one_thread
from synthlab.training.loop import train_ensemble

# Number of models in a trial: alignments in memory repeat after four models, 16 bytes apart. Number of training steps:
# a difference in the gradient shows in the parameters after one step, and in the loss of the next.
TRIED, TRIAL_STEPS = 5, 3
_exact: dict[tuple[str, int], bool] = {}  # the results of this process's trials, by shape and number of models


def split_inexact(configs: Sequence[Config], device: str = "cpu") -> list[list[Config]]:
    """Return the runs of an ensemble as ensembles to train: the whole if it is exact, else each run alone.

    On a GPU an ensemble is never split.
    """
    if len(configs) < 2 or (device == "cpu" and not is_exact(configs)):
        return [[config] for config in configs]
    return [list(configs)]


def is_exact(configs: Sequence[Config]) -> bool:
    """Return True if runs of one shape compute in an ensemble what each computes alone; False if the trial fails."""
    if not _fills_vectors(configs[0]):
        return False
    shape, tried = configs[0].shape, configs[:TRIED]
    if (shape, len(tried)) not in _exact:
        with use_one_thread():
            try:
                alone = [values for config in tried for values in _trial([config])]
                _exact[shape, len(tried)] = all(map(torch.equal, _trial(tried), alone))
            except KeyboardInterrupt:
                raise
            except BaseException:  # a user's class may raise anything; training reports it
                return False
    return _exact[shape, len(tried)]


def _fills_vectors(config: Config) -> bool:
    """Return True if each layer's numbers, model after model, begin at multiples of four."""
    model = config.model
    if model["name"] == "linear":
        return config.protocol.batch * config.train_length % 4 == 0
    width = model.get("width", 4)
    return width % 4 == round(model.get("mlp_ratio", 1) * width) % 4 == 0


def _trial(configs: Sequence[Config]) -> list[torch.Tensor]:
    """Return, for each model, its losses in the first steps and the resulting parameters, in one row."""
    family = configs[0].family
    ensemble = family.build_models(configs)
    protocols = [config.protocol.model_copy(update={"steps": TRIAL_STEPS, "record_every": 1}) for config in configs]
    trainings = train_ensemble(ensemble.parameters(), family.make_objective(ensemble, configs), protocols)
    return [
        torch.cat([torch.tensor(training.losses), *(each[i].flatten() for each in ensemble.parameters())])
        for i, training in enumerate(trainings)
    ]
