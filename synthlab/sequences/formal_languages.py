"""Formal languages: after each symbol of a string, the model predicts which may follow, and whether it may end."""

import math
from abc import abstractmethod

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from synthlab.sequences.task import Batch, SequenceTask, places

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
        tokens[:, 1 : held + 1] = symbols.where(places(lengths, held), self.end)
        targets = torch.zeros(len(lengths), width, self.vocabulary, dtype=torch.bool)
        targets[:, : held + 1, self._members()] = sets
        return Batch(tokens, lengths + 1, targets, places(lengths + 1, width))

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
