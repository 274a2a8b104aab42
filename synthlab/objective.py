"""What a run minimizes: mean squared error over all prefixes, in representation space."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from synthlab.inputs import InputDistribution
from synthlab.outrep import OutRep
from synthlab.tasks import Task


class PrefixRegression:
    """The loss of one fresh batch, each time it is called.

    Each sequence is an example of every length up to ``train_length``; the training distribution of lengths weighs
    them (paper, appendix A: uniform). Where the encoding draws positions anew for each prefix, a sequence is an example
    of one length, drawn from that distribution.
    """

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        inputs: InputDistribution,
        outrep: OutRep,
        batch: int,
        weights: Float[Tensor, " L"],
        generator: torch.Generator,
        position_generator: torch.Generator,
    ):
        self.model, self.task, self.inputs, self.outrep = model, task, inputs, outrep
        self.batch, self.weights = batch, weights
        self.generator, self.position_generator = generator, position_generator

    def __call__(self) -> Float[Tensor, ""]:
        x = self.inputs.draw(self.batch, len(self.weights), self.generator)
        positions, weights = None, self.weights
        if self.model.encoding.draws_positions:
            generator = self.position_generator
            lengths = 1 + torch.multinomial(self.weights, self.batch, replacement=True, generator=generator)
            positions = self.model.encoding.positions(lengths, x.shape[1] + 2, generator)
            weights = nn.functional.one_hot(lengths - 1, x.shape[1]).to(self.weights)
        target = self.outrep.forward(self.task.targets(x))
        return weighted_mse(self.model(x, positions), target, weights)


def weighted_mse(
    output: Float[Tensor, "B L"], target: Float[Tensor, "B L"], weights: Float[Tensor, "*#B L"]
) -> Float[Tensor, ""]:
    """Squared error, weighted over lengths and averaged over the batch. Raises ValueError for unequal shapes, which
    would broadcast."""
    if output.shape != target.shape:
        raise ValueError(f"output has shape {tuple(output.shape)}, target {tuple(target.shape)}: must be equal")
    return ((output - target).square() * weights).sum() / len(output)


def length_weights(distribution: str, train_length: int) -> Float[Tensor, " L"]:
    """The probability of each training length 1..train_length under a ``length_distribution`` of the config."""
    lengths = torch.arange(1, train_length + 1, dtype=torch.get_default_dtype())
    weights = {
        "uniform": torch.ones_like(lengths),
        "proportional": lengths,
        "longest": (lengths == train_length).to(lengths.dtype),
    }[distribution]
    return weights / weights.sum()
