"""Long-short misalignment on number tasks, where that of a perfect model is known.

A ``ScalarRun`` is trained and tested like any other run. Its record also measures how differently the model predicts
at different lengths *within* training, from half the training length to all of it. This is measured in representation
space, on the model's outputs before the map is inverted. Lengths k, l1 and l2 are from ceil(l_train / 2) to l_train;
sequences are the first ``train_length`` symbols of the test sequences.

``wasserstein`` compares distributions: of the outputs z after k symbols and of those after k', each over all sequences,
by the 1-Wasserstein distance, averaged over all pairs of lengths. The pairs of equal lengths, at distance 0, are
included, as in the paper's equation 2, where both lengths are drawn uniformly and independently. (Over pairs of K
different lengths it would be K / (K - 1) times as much: the same factor for every model of a training length.)
``suffix`` is that equation with the absolute difference for a distance: of the outputs for two suffixes of one
sequence, each passed to the model as a sequence of its own, the mean of |z(x[-l1:]) - z(x[-l2:])| over sequences, with
lengths drawn for each. It compares predictions one by one, so that it also counts what the symbols themselves change:
two suffixes may have different targets where the distributions of targets are the same.

Raw distances are in the units of the map: those of 1/x are far less than those of x. ``_scale`` divides by the standard
deviation of all the outputs that are compared, pooled over lengths, so that neither unit nor offset matters. Then
``wasserstein_scaled`` is at most 2 / sqrt(3), and ``suffix_scaled`` at most 2: the distance of two distributions is at
most the mean difference of independent outputs, so its average over pairs of lengths at most Gini's mean difference of
the pooled outputs.

A perfect model has the targets' own misalignment, which is not 0: scaled, and trained on lengths to 10 without a map,
0.26 for the mean (of few symbols it spreads more widely), 0.62 for the sum, 1.14 for the length, which is near the
bound. Models that fit their training lengths have nearly the targets' misalignment, whatever their error beyond. And a
constant prediction has none, however wrong it is: misalignment alone says nothing of the error, which the paper bounds
by it *and* the training loss. Scaled, a constant's is 0 / 0. It counts as 0, as the raw distance does; so does that of
outputs which differ in nothing but rounding, whose ratio would be noise. If a model is nearly but not quite constant,
the scaled value magnifies the rest; the raw value, which does not, is recorded too.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from synthlab.longshort.misalignment import last_logits
from synthlab.models.layers import Member
from synthlab.models.packing import ENDS
from synthlab.numbers.evaluation import data, measure_outputs, readouts, test_sequences
from synthlab.numbers.family import NUMBERS
from synthlab.numbers.outrep import map_of
from synthlab.numbers.run import NumbersRun
from synthlab.rng import stream
from synthlab.training.family import Family, one_by_one

# Measurements that are not per test length, and their meaning; all in one row.
OUTPUTS = {
    "wasserstein": "mean Wasserstein distance between the outputs at two training lengths, representation space",
    "wasserstein_scaled": "the same in standard deviations of the outputs",
    "suffix": "mean difference of the outputs for two suffixes of one sequence, representation space",
    "suffix_scaled": "the same in standard deviations of the outputs",
    "targets": "wasserstein of a perfect model",
    "targets_scaled": "wasserstein_scaled of a perfect model",
    "targets_suffix": "suffix of a perfect model",
    "targets_suffix_scaled": "suffix_scaled of a perfect model",
}
ROUNDING = 1e-6  # relative rounding error of equal outputs in a model's single precision
# From sequences [B, L], and their positions if these are drawn, to the outputs after each prefix, [B, L].
Answer = Callable[..., Tensor]


class ScalarRun(NumbersRun):
    """A run on a number task that also records its misalignment.

    It has the settings and the metrics of a ``NumbersRun``, and is trained in the same way.
    """

    # 3: both suffixes of a sequence share one draw of positions; 4: the family is part of the config; 5: test sequences
    # follow the seed
    results_version = 5
    family: Literal["scalar"] = "scalar"  # pyright: ignore[reportIncompatibleVariableOverride]  # another kind of run

    @classmethod
    def from_run(cls, run: NumbersRun) -> "ScalarRun":
        """Return the same run with its misalignment."""
        return cls.from_raw(run.model_dump(exclude={"family"}))

    @classmethod
    def load_family(cls) -> Family:
        return replace(NUMBERS, evaluate_models=one_by_one(evaluate_model))


@torch.no_grad()
def evaluate_model(stack: nn.Module, index: int, config: NumbersRun) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return every metric at every length of the ensemble's model ``index``; and the ``OUTPUTS`` in one row.

    One evaluation serves both, unless the test lengths end before the training lengths do.
    """
    (task, inputs, _), outrep = data(config), map_of(stack, index, config)
    how, seed = config.evaluation, config.test_seed
    model, positions = Member(stack, index), stream(seed, "evaluation_positions")
    x = test_sequences(inputs, how.sequences, config.test_length, seed)
    z = readouts(model, x, positions)
    metrics = measure_outputs(z, x, task, outrep, how.largest)
    if config.test_length < config.train_length:
        x = test_sequences(inputs, how.sequences, config.train_length, seed)
        z = readouts(model, x, positions)

    def perfect(x):
        return outrep.forward(task.targets(x).double())

    within, drawn = x[:, : config.train_length], None
    if model.encoding.draws_positions:
        tokens = config.train_length + ENDS
        drawn = model.encoding.positions(torch.full((len(x),), tokens), tokens, positions)
    lengths = suffix_lengths(len(x), config.train_length, stream(seed, "windows"))
    row = [
        *measure_misalignment(z, model, within, lengths, drawn),
        *measure_misalignment(perfect(within), perfect, within, lengths),
    ]
    table = pd.DataFrame({"length": range(1, config.test_length + 1), **metrics})
    return table, pd.DataFrame([row], columns=list(OUTPUTS))


def measure_misalignment(
    z: Float[Tensor, "N L"],
    answer: Answer,
    x: Int[Tensor, "N T"],
    lengths: Int[Tensor, "2 N"],
    positions: Int[Tensor, "N P"] | None = None,
) -> tuple[float, float, float, float]:
    """Return the first four of ``OUTPUTS``.

    Args:
        z: The model's outputs after each prefix of the sequences; L is T or more.
        answer: Returns its outputs after each prefix of any other sequences.
        x: The sequences, of T = ``train_length`` symbols.
        lengths: The lengths of the two suffixes of each sequence that are compared.
        positions: If positions are drawn, those of each sequence with its BOS and EOS. Both suffixes keep them: a
            suffix's BOS has the position of the symbol before it.
    """
    compared = z[:, least_length(x.shape[1]) - 1 : x.shape[1]].double()
    twice = None if positions is None else positions.repeat(2, 1)
    ends = last_logits(
        lambda *given: answer(*given).unsqueeze(-1), x.repeat(2, 1), lengths.flatten(), positions=twice
    ).double()
    first, second = ends.view(2, -1)
    between, within = pairwise(compared).mean().item(), (first - second).abs().mean().item()
    return between, scale_by_deviation(between, compared), within, scale_by_deviation(within, ends)


def pairwise(z: Float[Tensor, "N K"]) -> Float[Tensor, "K K"]:
    """Return the 1-Wasserstein distance between the empirical distributions of every two columns of ``z``.

    It is the least mean distance over all ways to pair their values, attained where both are sorted.
    """
    ordered = z.sort(0).values.mT.contiguous()
    return torch.cdist(ordered, ordered, p=1) / len(z)


def scale_by_deviation(value: float, outputs: Float[Tensor, "..."]) -> float:
    """Return ``value`` in standard deviations of ``outputs``; 0 if those are equal up to rounding."""
    deviation = outputs.double().std(correction=0).item()
    return value / deviation if deviation > ROUNDING * outputs.abs().max().item() else 0.0


def least_length(train_length: int) -> int:
    """Return the shortest length compared: half the training length, rounded up."""
    return -(-train_length // 2)


def suffix_lengths(sequences: int, train_length: int, generator: torch.Generator) -> Int[Tensor, "2 N"]:
    """Draw l1 and l2 for each sequence, uniform and independent."""
    return torch.randint(least_length(train_length), train_length + 1, (2, sequences), generator=generator)
