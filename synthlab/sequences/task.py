"""The interfaces of sequence tasks.

There are tasks with a prompt and an answer (``AnswerTask``), and formal languages, where the model predicts after each
symbol which may follow (``FormalLanguage``).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from synthlab.runs.sources import Sourced

SPECIAL = ("<begin>", "<separator>", "<end>")  # special tokens, numbered after the symbols
HIDDEN = -1  # marks an empty column, where symbols are laid side by side
MULTIPLE = 4  # the vocabulary's size is a multiple of this, so that the numbers of an ensemble fill vectors of four


class Batch(NamedTuple):
    """Examples as model inputs: B examples, T tokens, right-padded; stacked for an ensemble, [E, B, ...]."""

    tokens: Int[Tensor, "*E B T"]  # begin, prompt, separator, answer; or begin and the symbols of a string
    sizes: Int[Tensor, "*E B"]  # the number of tokens of each row, without padding
    # The next token; in a formal language, the set of next tokens.
    targets: Int[Tensor, "*E B T"] | Bool[Tensor, "*E B T V"]
    scored: Bool[Tensor, "*E B T"]


class SequenceTask(Sourced, ABC):
    """A sequence task. The constructor's keyword arguments are the keys of the config group ``task``.

    Attributes:
        symbols: The task's own symbols as text; token t is ``symbols[t]``. Begin, separator and end follow.
        source: The publication that the task follows.
        departs: How it differs from the publication; empty if it does not.
        shortest: The smallest length.
        longest: The greatest length.
    """

    symbols: Sequence[str]
    source: ClassVar[str]
    departs: ClassVar[str] = ""
    shortest: int = 1
    longest: float = math.inf

    @property
    def begin(self) -> int:
        """The token that each row begins with."""
        return len(self.symbols)

    @property
    def separator(self) -> int:
        """The token between prompt and answer."""
        return len(self.symbols) + 1

    @property
    def end(self) -> int:
        """The token after the answer, or after a string of a language."""
        return len(self.symbols) + 2

    @property
    def vocabulary(self) -> int:
        """The number of tokens, rounded up to a multiple of four; those beyond ``end`` never occur."""
        return -(-(len(self.symbols) + len(SPECIAL)) // MULTIPLE) * MULTIPLE

    def written(self, token: int) -> str:
        """Return a token as text."""
        names = (*self.symbols, *SPECIAL)
        return names[token] if token < len(names) else "<unused>"

    def has(self, length: int) -> bool:
        """Return True if there are examples of this length."""
        return self.shortest <= length <= self.longest

    def lengths(self, low: int, high: int) -> list[int]:
        """Return the lengths of the task from ``low`` to ``high``."""
        return [length for length in range(low, high + 1) if self.has(length)]

    def couple(self, tokens: Int[Tensor, "*B T"]) -> Int[Tensor, "*B T"] | None:
        """Return the place of each token, the same for tokens that belong together, such as digits of one significance.

        ``positions=coupled``, ``positions=abacus`` and ``task=index_hints`` use them. A place must follow from the
        tokens up to its own.

        Args:
            tokens: Rows of begin, prompt, separator and some of the answer, with end tokens behind.

        Returns:
            The places. A prompt of ``length`` n has 1, ..., n, its answer at most one more, and signs 0; those of begin
            and end are ignored. None: the task names no places.
        """
        return None

    def read(self, symbols: Int[Tensor, "B L"]) -> Int[Tensor, "B T"]:
        """Return the rows of tokens that the model reads of strings, or of prompts before their answers."""
        return torch.cat((torch.full((len(symbols), 1), self.begin), symbols), 1)

    @abstractmethod
    def width(self, length: int) -> int:
        """Return the most input tokens of an example up to this length."""

    @abstractmethod
    def batch(self, lengths: Int[Tensor, " B"], width: int, generator: torch.Generator) -> Batch:
        """Draw an example of each of ``lengths``, in rows of ``width`` tokens."""

    @abstractmethod
    def losses(self, logits: Float[Tensor, "*E B T V"], batch: Batch) -> Float[Tensor, "*E B T"]:
        """Return the loss at each token, in nats, whether or not it is scored."""

    @abstractmethod
    def right(self, logits: Float[Tensor, "B T V"], batch: Batch) -> Bool[Tensor, "B T"]:
        """Return True where the model's prediction at a token is right."""

    @abstractmethod
    def predict_distribution(self, logits: Float[Tensor, "B T V"]) -> Float[Tensor, "B T V"]:
        """Return the model's prediction at each token, as a distribution over the vocabulary."""

    @abstractmethod
    def target_distribution(self, batch: Batch) -> Float[Tensor, "B T V"]:
        """Return the target at each token, as a distribution over the vocabulary."""

    @abstractmethod
    def chance(self, length: int) -> float:
        """Return the exact match, at this length, of the best answer that ignores the prompt."""


class TokenTask(SequenceTask):
    """A task whose target at each scored token is one token; the loss is the cross-entropy."""

    def losses(self, logits: Float[Tensor, "*E B T V"], batch: Batch) -> Float[Tensor, "*E B T"]:
        flat = F.cross_entropy(logits.flatten(0, -2), batch.targets.flatten(), reduction="none")
        return flat.view(logits.shape[:-1])

    def right(self, logits: Float[Tensor, "B T V"], batch: Batch) -> Bool[Tensor, "B T"]:
        return logits.argmax(-1) == batch.targets

    def predict_distribution(self, logits: Float[Tensor, "B T V"]) -> Float[Tensor, "B T V"]:
        return logits.softmax(-1)

    def target_distribution(self, batch: Batch) -> Float[Tensor, "B T V"]:
        return F.one_hot(batch.targets, self.vocabulary).double()


class Pairs(NamedTuple):
    """The symbols of prompts and answers, right-padded (pad values are ignored), and their lengths."""

    prompt: Int[Tensor, "B P"]
    prompt_sizes: Int[Tensor, " B"]
    answer: Int[Tensor, "B A"]
    answer_sizes: Int[Tensor, " B"]
    # Mask of answer tokens that are scored, without an end; None: all of them, and the end.
    asked: Bool[Tensor, "B A"] | None = None


class AnswerTask(TokenTask):
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

    def read(self, symbols: Int[Tensor, "B L"]) -> Int[Tensor, "B T"]:
        return torch.cat((super().read(symbols), torch.full((len(symbols), 1), self.separator)), 1)

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
        row.scatter_(1, _columns(pairs.prompt_sizes, pairs.prompt, 1, width + 1), pairs.prompt)
        row.scatter_(1, pairs.prompt_sizes[:, None] + 1, self.separator)
        into = _columns(pairs.answer_sizes, pairs.answer, first, width + 1)
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


Strings = tuple[Int[Tensor, "B L"], Bool[Tensor, "B K C"]]


class FormalLanguage(SequenceTask):
    """A formal language: the model predicts, at each token, the set of symbols that may follow, or the end.

    A row is begin and a string. The target at each token is the set of next symbols, or the end, in strings of the
    language (Bhattamishra et al., 2020, arXiv 2009.11264, section 5). A string is right if all its sets are. The loss
    is the binary cross-entropy of each member of the set (their code: the squared error).
    """

    @abstractmethod
    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Strings:
        """Draw a string of each of ``lengths``, right-padded; and the sets of next symbols.

        The sets are those after the first 0, 1, ..., L of the symbols, K = L + 1, over C members: the symbols, then the
        end.
        """

    def width(self, length: int) -> int:
        return length + 1

    def batch(self, lengths: Int[Tensor, " B"], width: int, generator: torch.Generator) -> Batch:
        symbols, sets = self.draw(lengths, generator)
        held = symbols.shape[1]
        tokens = torch.full((len(lengths), width), self.end)
        tokens[:, 0] = self.begin
        tokens[:, 1 : held + 1] = symbols.where(mask_lengths(lengths, held), self.end)
        targets = torch.zeros(len(lengths), width, self.vocabulary, dtype=torch.bool)
        targets[:, : held + 1, self._members()] = sets
        return Batch(tokens, lengths + 1, targets, mask_lengths(lengths + 1, width))

    def losses(self, logits: Float[Tensor, "*E B T V"], batch: Batch) -> Float[Tensor, "*E B T"]:
        # Compute over the full vocabulary, then mask non-members: rows of other widths do not fill vectors of four.
        losses = F.binary_cross_entropy_with_logits(logits, batch.targets.to(logits), reduction="none")
        token = torch.arange(self.vocabulary, device=logits.device)
        asked = (token < len(self.symbols)) | (token == self.end)
        return (losses * asked).sum(-1) / len(self._members())

    def right(self, logits: Float[Tensor, "B T V"], batch: Batch) -> Bool[Tensor, "B T"]:
        members = self._members()
        return ((logits[..., members] > 0) == batch.targets[..., members]).all(-1)

    def predict_distribution(self, logits: Float[Tensor, "B T V"]) -> Float[Tensor, "B T V"]:
        """Return the probabilities that members may follow, normalized to sum to 1."""
        logarithms = torch.full_like(logits, -math.inf)
        logarithms[..., self._members()] = F.logsigmoid(logits[..., self._members()])
        return logarithms.softmax(-1)

    def target_distribution(self, batch: Batch) -> Float[Tensor, "B T V"]:
        """Return the uniform distribution on the set."""
        sets = batch.targets.double()
        return sets / sets.sum(-1, keepdim=True).clamp(min=1)  # beyond a string there is no set

    def _members(self) -> list[int]:
        """Return the tokens that sets are made of."""
        return [*range(len(self.symbols)), self.end]


def mask_lengths(lengths: Int[Tensor, " B"], width: int) -> Bool[Tensor, "B W"]:
    """Return True at the first ``lengths`` of ``width`` columns."""
    return torch.arange(width) < lengths[:, None]


def hide_rest(symbols: Int[Tensor, "B W"], sizes: Int[Tensor, " B"]) -> Int[Tensor, "B W"]:
    """Return ``symbols`` with all but the first ``sizes`` of each row ``HIDDEN``."""
    return symbols.masked_fill(~mask_lengths(sizes, symbols.shape[1]), HIDDEN)


def push_left(columns: Int[Tensor, "B W"]) -> tuple[Int[Tensor, "B W"], Int[Tensor, " B"]]:
    """Return the tokens of each row in order, without ``HIDDEN`` ones, padded with zeros; and their numbers."""
    kept = columns != HIDDEN
    order = (~kept).long().argsort(dim=1, stable=True)
    return columns.gather(1, order).clamp(min=0), kept.sum(1)


def draw_ranks(lengths: Int[Tensor, " B"], width: int, generator: torch.Generator) -> Int[Tensor, "B W"]:
    """Draw a random permutation of 0, ..., n - 1 in the first n = ``lengths`` columns; larger numbers follow."""
    keys = torch.rand(len(lengths), width, generator=generator, dtype=torch.float64)
    return keys.masked_fill(~mask_lengths(lengths, width), math.inf).argsort(1).argsort(1)


def draw_integers(high: Int[Tensor, "..."], generator: torch.Generator) -> Int[Tensor, "..."]:
    """Draw integers, each uniform on 0, ..., ``high`` - 1."""
    drawn = (torch.rand(high.shape, generator=generator, dtype=torch.float64) * high).long()
    return torch.minimum(drawn, high - 1)  # rounding may lift the product to ``high``


def _columns(
    sizes: Int[Tensor, " B"], symbols: Int[Tensor, "B W"], first: int | Tensor, nowhere: int
) -> Int[Tensor, "B W"]:
    """Return the column of each of ``symbols`` in its row, from ``first`` on; padding goes to ``nowhere``."""
    width = symbols.shape[1]
    return (first + torch.arange(width)).expand(len(sizes), width).where(mask_lengths(sizes, width), nowhere)
