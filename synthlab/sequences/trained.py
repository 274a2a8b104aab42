"""Trained models of sequence tasks: predictions of the next token, and whole answers."""

from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from synthlab.errors import InputError
from synthlab.models.encodings.base import encoding_of
from synthlab.models.layers import Member
from synthlab.rng import stream
from synthlab.sequences.positions import POSITIONS, OfTask
from synthlab.sequences.run import SequencesRun
from synthlab.sequences.task import AnswerTask, SequenceTask, TokenTask
from synthlab.sequences.tasks import TASKS
from synthlab.training.trained import Prediction, TrainedModel


class TrainedSequences(TrainedModel):
    """A trained model of a sequence task.

    ``predict`` returns the probability of each token to be the first of the answer to a prompt, or to follow the
    beginning of a string of a language; ``answers`` decodes whole answers. Texts are symbols separated by spaces, ``"12
    7 30"``, or without spaces if each is one letter.
    """

    @property
    def task(self) -> SequenceTask:
        """The task."""
        return TASKS.build(cast(SequencesRun, self.record.config).task)

    def limits(self):
        none, one = (self.task.read(torch.zeros(1, size, dtype=torch.long)).shape[1] for size in (0, 1))
        return len(self.task.symbols), (encoding_of(self.module).longest() - none) / (one - none)

    def encode(self, text):
        known = {symbol: token for token, symbol in enumerate(self.task.symbols)}
        words = text.split() if " " in text or any(len(symbol) > 1 for symbol in known) else list(text)
        for word in words:
            if word not in known:
                raise InputError(f"sequences: {word!r:.40}: must be one of {', '.join(list(known)[:10])}, ...")
        return [known[word] for word in words]

    def respond(self, x, lengths):
        """Return predictions; each prompt is processed alone, without padding."""
        rows = [self.task.read(each[None, :size])[0] for each, size in zip(x, lengths.tolist(), strict=True)]
        return self.prediction(torch.stack([self._logits(row[None])[0, -1:] for row in rows]))

    def tokens(self, x):
        row = self.task.read(x)
        return row, self._positions(row)

    def prediction(self, outputs):
        output, logits = outputs[:, -1], outputs[:, -1].double()
        return Prediction(logits.softmax(-1) if isinstance(self.task, TokenTask) else logits.sigmoid(), output)

    def token_text(self, token):
        return self.task.written(token)

    @torch.no_grad()
    def answers(self, sequences: Any, most: int = 1000) -> list[str]:
        """Decode the answer to each prompt greedily, up to ``most`` tokens: its symbols separated by spaces.

        Raises:
            InputError: As ``predict`` raises it; or the task is a formal language, which has no answers, or an answer
                is too long for the encoding.
        """
        task = self.task
        if not isinstance(task, AnswerTask):
            raise InputError(f"task={self.record.config.task['name']}: a formal language has no answers")
        x, lengths = self._symbols(sequences)
        found = []
        for each, size in zip(x, lengths.tolist(), strict=True):
            row, said = task.read(each[None, :size]), []
            while len(said) < most:
                if row.shape[1] > encoding_of(self.module).longest():
                    encoding = self.record.config.encoding["name"]
                    raise InputError(f"sequences: an answer goes beyond the positions of encoding={encoding}")
                token = int(self._logits(row)[0, -1].argmax())
                if token == task.end:
                    break
                said.append(task.written(token))
                row = torch.cat((row, torch.tensor([[token]])), 1)
            found.append(" ".join(said))
        return found

    def _logits(self, row: Int[Tensor, "N T"]) -> Float[Tensor, "N T V"]:
        return Member(self.module, 0)(row, self._positions(row))

    def _positions(self, row: Int[Tensor, "N T"]) -> Int[Tensor, "N T"] | None:
        config = cast(SequencesRun, self.record.config)
        sampler = POSITIONS.build(config.positions)
        if isinstance(sampler, OfTask):
            return sampler.number(self.task, row)
        draws = stream(config.test_seed, "evaluation_positions")
        return encoding_of(self.module).positions(torch.full((len(row),), row.shape[1]), row.shape[1], draws)
