"""The loss of the best constant answer, which a model has without looking at its input."""

from synthlab.regression.config import RunConfig
from synthlab.regression.construction import data
from synthlab.regression.objective import length_weights
from synthlab.rng import stream

SEQUENCES = 4096  # whose targets' variance is within about 2 % of that of all


def constant_loss(config: RunConfig) -> float:
    """The lowest training loss of a model that answers all sequences of all lengths alike: the variance of the targets,
    in representation space. The same for all seeds."""
    task, inputs, outrep = data(config)
    weights = length_weights(config.length_distribution, config.train_length).double()
    x = inputs.draw(SEQUENCES, len(weights), stream(0, "training"))
    targets = outrep.forward(task.targets(x)).double()
    mean = (targets.mean(0) * weights).sum()
    return float(((targets - mean).square().mean(0) * weights).sum())
