"""Trained models on regression tasks, asked for answers."""

from typing import cast

from synthlab.errors import InputError
from synthlab.models.encoding_base import encoding_of
from synthlab.models.layers import Member
from synthlab.regression.config import RunConfig
from synthlab.regression.construction import data
from synthlab.regression.evaluation import in_passes, rows_in_one_pass
from synthlab.rng import stream
from synthlab.training.trained import Prediction, TrainedModel


class TrainedRegression(TrainedModel):
    """A trained model whose answer is a number: the mean, length or sum of a binary sequence."""

    def limits(self):
        return 2, encoding_of(self.module).longest()

    def encode(self, text):
        if not set(text) <= {"0", "1"}:
            raise InputError(f"sequences: {text!r:.40}: must be made of 0 and 1")
        return [int(symbol) for symbol in text]

    def respond(self, x, lengths):
        """Positions that are drawn, are drawn as for the tests. Outputs are clipped and inverted as there."""
        config, encoding, length = cast(RunConfig, self.record.config), encoding_of(self.module), x.shape[1]
        draws = stream(config.test_seed, "evaluation_positions")
        positions = encoding.positions(lengths, length + 2, draws) if encoding.draws_positions else None
        outputs = in_passes(Member(self.module, 0), x, positions, rows_in_one_pass(length))
        output = outputs.gather(1, lengths[:, None] - 1).squeeze(1)
        _, _, outrep = data(config)
        return Prediction(outrep.inverse(outrep.clip(output.double(), config.evaluation.largest)), output)
