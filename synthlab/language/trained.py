"""Trained language models: predictions of the next token."""

from typing import cast

import torch
from jaxtyping import Int
from torch import Tensor

from synthlab.language.evaluation import ROWS
from synthlab.language.languages import TASKS
from synthlab.language.languages.source import LanguageTask
from synthlab.language.run import LanguageRun
from synthlab.language.training import build_extension
from synthlab.models.encodings.base import encoding_of
from synthlab.models.layers import Member
from synthlab.rng import stream
from synthlab.training.trained import Prediction, TrainedModel


class TrainedLanguage(TrainedModel):
    """A trained language model that predicts the probability of each next token."""

    def build(self):
        module, config = super().build(), cast(LanguageRun, self.record.config)
        if config.extension is not None:  # it replaces the encoding after the first training
            module.encoding = build_extension([config])
        return module

    def limits(self):
        return self._language().vocabulary, encoding_of(self.module).longest()

    def encode(self, text):
        return self._language().encode(text)

    def respond(self, x, lengths):
        """Return predictions; a text's length excludes padding."""
        member = Member(self.module, 0)
        positions = self._positions(lengths, x.shape[1])
        logits = [
            member(x[rows], None if positions is None else positions[rows])[torch.arange(len(rows)), lengths[rows] - 1]
            for rows in torch.arange(len(x)).split(ROWS)
        ]
        return self.prediction(torch.cat(logits)[:, None])

    def tokens(self, x):
        return x, self._positions(torch.full((len(x),), x.shape[1]), x.shape[1])

    def prediction(self, outputs):
        return Prediction(outputs[:, -1].double().softmax(-1), outputs[:, -1])

    def token_text(self, token):
        return self._language().decode(token)

    def _positions(self, lengths: Int[Tensor, " N"], length: int) -> Int[Tensor, "N T"] | None:
        draws = stream(cast(LanguageRun, self.record.config).test_seed, "evaluation_positions")
        return encoding_of(self.module).positions(lengths, length, draws)

    def _language(self) -> LanguageTask:
        return TASKS.build(cast(LanguageRun, self.record.config).task)
