"""Views of models at any point of their training: test errors, predictions, attention."""

from collections.abc import Sequence

import torch
from torch import nn

from classroom.messages import Dots, Reading, View
from synthlab.inspection.hooked import HookedTransformer, run_with_cache
from synthlab.models.layers import Member
from synthlab.models.packing import ENDS, with_ends
from synthlab.models.transformer import Transformer
from synthlab.numbers.evaluation import data, measure_outputs, readouts, test_sequences
from synthlab.numbers.run import NumbersRun
from synthlab.rng import stream

DOTS = 60  # number of sequences of each length that are shown individually


class Viewer:
    """Evaluates models of one run on its test sequences, or on the first of them."""

    def __init__(self, config: NumbersRun):
        self.config = config
        self.task, self.inputs, self.outrep = data(config)
        self.x = test_sequences(self.inputs, config.evaluation.sequences, config.test_length, config.test_seed)
        self.lengths = few_lengths(config.train_length, config.test_length)

    @torch.no_grad()
    def view(self, model: nn.Module, sequences: int | None = None) -> View:
        """Return the errors and predictions of a model (an ensemble of one) on its test sequences.

        ``sequences`` limits them to the first ones; on all, the errors are those of a record of the run.
        """
        x = self.x[:sequences]
        largest = self.config.evaluation.largest
        z = readouts(Member(model, 0), x, stream(self.config.test_seed, "evaluation_positions"))
        metrics = measure_outputs(z, x, self.task, self.outrep, largest)
        y, z = self.task.targets(x).double(), z.double()
        answers = self.outrep.inverse(self.outrep.clip(z, largest))
        shown = {"truth": y, "answers": answers, "mapped": self.outrep.forward(y), "outputs": z}
        return View(
            error=metrics["mse"].tolist(),
            dots=[
                Dots(length, **{name: values[:DOTS, length - 1].tolist() for name, values in shown.items()})
                for length in self.lengths
            ],
        )

    @torch.no_grad()
    def read(self, model: nn.Module, pattern: str, length: int) -> Reading:
        """Return the predictions of a model (an ensemble of one) for ``pattern``, and its attention at ``length``.

        ``pattern`` has 0s and 1s, and is repeated to the test length.
        """
        longest = self.config.test_length
        symbols = (pattern * -(-longest // len(pattern)))[:longest]
        x = torch.tensor([[int(symbol) for symbol in symbols]])
        positions = stream(self.config.test_seed, "evaluation_positions")
        z = readouts(Member(model, 0), x, positions).double()
        answers = self.outrep.inverse(self.outrep.clip(z, self.config.evaluation.largest))
        attention = []
        if isinstance(model, Transformer):
            drawn = model.encoding.positions(torch.tensor([length + ENDS]), length + ENDS, positions)
            _, inside = run_with_cache(HookedTransformer(model), with_ends(x[:, :length]), drawn)
            *_, last = (values for name, values in inside.items() if name.endswith("hook_pattern"))
            attention = last[0, :, -1].tolist()
        return Reading(symbols, length, answers[0].tolist(), self.task.targets(x)[0].tolist(), attention)

    def find_target_ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the minimal and maximal training targets, on the original scale and in representation space."""
        natural = self.task.span(self.config.train_length)
        mapped = self.outrep.forward(torch.tensor(natural, dtype=torch.float64)).tolist()
        return natural, (min(mapped), max(mapped))


def few_lengths(train_length: int, test_length: int) -> Sequence[int]:
    """Return the lengths at which predictions are shown.

    These are a fifth, half and all of the training length, twice that, and the test length.
    """
    chosen = {train_length // 5, train_length // 2, train_length, 2 * train_length, test_length}
    return sorted(length for length in chosen if 1 <= length <= test_length)
