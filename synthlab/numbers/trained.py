"""Trained models on number tasks."""

from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from synthlab.errors import InputError
from synthlab.models.encodings.base import encoding_of
from synthlab.models.layers import Member
from synthlab.models.packing import ENDS, with_ends
from synthlab.numbers.evaluation import run_in_passes
from synthlab.numbers.outrep import map_of
from synthlab.numbers.run import NumbersRun
from synthlab.rng import stream
from synthlab.training.trained import Prediction, TrainedModel


class TrainedNumbers(TrainedModel):
    """A trained model that predicts a number: the mean, length or sum of a binary sequence."""

    def limits(self):
        return 2, encoding_of(self.module).longest() - ENDS

    def encode(self, text):
        if not set(text) <= {"0", "1"}:
            raise InputError(f"sequences: {text!r:.40}: must be made of 0 and 1")
        return [int(symbol) for symbol in text]

    def respond(self, x, lengths):
        """Return predictions; outputs are clipped and inverted as in the tests."""
        positions = self._positions(lengths, x.shape[1])
        outputs = run_in_passes(Member(self.module, 0), x, positions, x.shape[1])
        return self._to_prediction(outputs.gather(1, lengths[:, None] - 1).squeeze(1))

    def tokens(self, x):
        """Return BOS, the symbols, EOS."""
        return with_ends(x), self._positions(torch.full((len(x),), x.shape[1]), x.shape[1])

    def prediction(self, outputs):
        return self._to_prediction(outputs[:, -1, 0])

    def token_text(self, token):
        return ("0", "1", "BOS", "EOS")[token]

    def _positions(self, lengths: Int[Tensor, " N"], length: int) -> Int[Tensor, "N T"] | None:
        draws = stream(cast(NumbersRun, self.record.config).test_seed, "evaluation_positions")
        return encoding_of(self.module).positions(lengths + ENDS, length + ENDS, draws)

    def _to_prediction(self, output: Float[Tensor, " N"]) -> Prediction:
        """Return predictions from outputs in representation space."""
        config = cast(NumbersRun, self.record.config)
        outrep = map_of(self.module, 0, config)
        return Prediction(outrep.inverse(outrep.clip(output.double(), config.evaluation.largest)), output)
