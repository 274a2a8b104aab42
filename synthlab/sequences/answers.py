"""Tasks with a prompt and an answer: begin, prompt, separator, answer, end. The loss is on the answer and the end."""

from abc import abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from synthlab.sequences.task import Batch, SequenceTask, places


class Pairs(NamedTuple):
    """The symbols of prompts and answers, right-padded (pad values are ignored), and their lengths."""

    prompt: Int[Tensor, "B P"]
    prompt_sizes: Int[Tensor, " B"]
    answer: Int[Tensor, "B A"]
    answer_sizes: Int[Tensor, " B"]
    # Mask of answer tokens that are scored, without an end; None: all of them, and the end.
    asked: Bool[Tensor, "B A"] | None = None


class AnswerTask(SequenceTask):
    """A task with a prompt and an answer.

    Example:
        >>> import torch
        >>> from synthlab.sequences.tasks.copying import Reverse
        >>> task = Reverse(symbols=2)
        >>> batch = task.batch(torch.tensor([3]), task.width(3), torch.Generator().manual_seed(0))
        >>> [task.written(token) for token in batch.tokens[0].tolist()]
        ['<begin>', '0', '1', '1', '<separator>', '1', '1', '0']
    """

    @abstractmethod
    def sizes(self, length: int) -> tuple[int, int]:
        """Return the most symbols of a prompt and of an answer for examples up to this length."""

    @abstractmethod
    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        """Draw a prompt of each of ``lengths``, and its answer."""

    def width(self, length: int) -> int:
        return sum(self.sizes(length)) + 2  # begin and separator; the end token is a target, not an input

    def batch(self, lengths: Int[Tensor, " B"], width: int, generator: torch.Generator) -> Batch:
        return self.lay_out(self.draw(lengths, generator), width)

    def lay_out(self, pairs: Pairs, width: int) -> Batch:
        """Return prompts and answers as rows of ``width`` tokens."""
        rows, first = len(pairs.prompt), pairs.prompt_sizes[:, None] + 2  # the first column of the answer
        # One more column for the end, and a scratch column that absorbs padding.
        row = torch.full((rows, width + 2), self.end)
        row[:, 0] = self.begin
        row.scatter_(1, _places(pairs.prompt_sizes, pairs.prompt, 1, width + 1), pairs.prompt)
        row.scatter_(1, pairs.prompt_sizes[:, None] + 1, self.separator)
        into = _places(pairs.answer_sizes, pairs.answer, first, width + 1)
        row.scatter_(1, into, pairs.answer)
        ends = first + pairs.answer_sizes[:, None]
        row.scatter_(1, ends, self.end)
        scored = torch.zeros(rows, width + 2, dtype=torch.bool)
        if pairs.asked is None:
            column = torch.arange(width + 2)
            scored = (column >= first) & (column <= ends)
        else:
            scored.scatter_(1, into, pairs.asked)
        sizes = pairs.prompt_sizes + pairs.answer_sizes + 2
        return Batch(row[:, :width], sizes, row[:, 1 : width + 1], scored[:, 1 : width + 1])

    def losses(self, logits: Float[Tensor, "*E B T V"], batch: Batch) -> Float[Tensor, "*E B T"]:
        flat = F.cross_entropy(logits.flatten(0, -2), batch.targets.flatten(), reduction="none")
        return flat.view(logits.shape[:-1])

    def right(self, logits: Float[Tensor, "B T V"], batch: Batch) -> Bool[Tensor, "B T"]:
        return logits.argmax(-1) == batch.targets

    def predict_distribution(self, logits: Float[Tensor, "B T V"]) -> Float[Tensor, "B T V"]:
        return logits.softmax(-1)

    def target_distribution(self, batch: Batch) -> Float[Tensor, "B T V"]:
        return F.one_hot(batch.targets, self.vocabulary).double()


def _places(
    sizes: Int[Tensor, " B"], symbols: Int[Tensor, "B W"], first: int | Tensor, nowhere: int
) -> Int[Tensor, "B W"]:
    """Return the column of each of ``symbols`` in its row, from ``first`` on; padding goes to ``nowhere``."""
    width = symbols.shape[1]
    return (first + torch.arange(width)).expand(len(sizes), width).where(places(sizes, width), nowhere)
