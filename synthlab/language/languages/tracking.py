"""Tracking: recall in which a text may give the value of a key by a link to another key.

It follows RULER's variable tracking (Hsieh et al., 2024, arXiv 2404.06654).
"""

from typing import ClassVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from synthlab.errors import InputError
from synthlab.language.languages.recall import TOKENS, Many, Probability, Recall, Several
from synthlab.language.languages.source import Questions

SPARE = 3  # number of keys beyond the values: without the two of a question, two others still share a value


class Tracking(Recall):
    """A language like ``Recall`` that also has links, "key a has the value of key b", with probability ``links``.

    Links are true: each is uniform over the ordered pairs of different keys that share a value in the text.

    Tokens, in this order: those of ``Recall``, ``keys`` x ``keys`` links, of which those from a key to itself never
    occur.
    """

    kinds: ClassVar = {"recall": 2, "needle": 2, "tracking": 3}

    def __init__(
        self,
        keys: Several,
        values: Several,
        fillers: Many,
        facts: Probability,
        questions: Probability,
        links: Probability,
    ):
        super().__init__(keys, values, fillers, facts, questions)
        if facts + questions + links > 1:
            raise InputError(
                f"task.links={links:g}: must be at most 1 - task.facts={facts:g} - task.questions={questions:g}"
            )
        if keys < values + SPARE:
            raise InputError(
                f"task.keys={keys}: must be at least task.values={values} and {SPARE} more, so that any text "
                f"has keys to link"
            )
        self.first_link = self.vocabulary
        self.vocabulary += keys**2
        if self.vocabulary > TOKENS:
            raise InputError(
                f"task.keys={keys}: makes {keys**2} links, and with the others {self.vocabulary} tokens; must be "
                f"at most {TOKENS}"
            )
        self.link_rate = links

    def predict(self, tokens: Int[Tensor, "B L"]) -> None:
        """Return None: the exact predictor is a sum over all ``values`` ** ``keys`` assignments, after each token."""

    def questions(self, count, length, depth, generator, kind="recall"):
        """Return questions of a ``family``.

        ``recall`` asks for a key that only the fact at ``depth`` mentions, in a text about other keys; ``needle`` does
        the same among fillers. ``tracking`` asks for a key that only a link mentions, anywhere between the fact, about
        the linked key, and the question.
        """
        if not self.fact_rate:
            return None
        place = self._place(length, depth, self.kinds[kind])
        asks, answers = self._draw_around(count, place, length, generator)
        rows, asked = torch.arange(count), torch.randint(self.keys, (count,), generator=generator)
        known, linked = asked, None
        if kind == "tracking":
            known = (asked + torch.randint(1, self.keys, (count,), generator=generator)) % self.keys
            linked = torch.randint(place + 1, length - 1, (count,), generator=generator)
            asks, answers = _remove_questions(asks, answers, linked)
        values = self._facts(count, generator)
        answer = values[rows, known]
        values[rows, asked] = answer
        if kind == "needle":
            tokens = self.first_filler + torch.randint(self.fillers, (count, length), generator=generator)
        else:
            others = torch.ones(count, self.keys, dtype=torch.bool)
            others[rows, asked] = others[rows, known] = False
            keys = torch.multinomial(others.double(), length, replacement=True, generator=generator)
            tokens = self._write_tokens(keys, values, asks, answers, generator, others)
        tokens[:, place] = known * self.values + answer
        if linked is not None:
            tokens[rows, linked] = self.first_link + asked * self.keys + known
        tokens[:, -1] = self.first_question + asked
        return Questions(tokens, self.first_answer + answer)

    def _write_tokens(
        self,
        keys: Int[Tensor, "B L"],
        values: Int[Tensor, "B keys"],
        asks: Bool[Tensor, "B L"],
        answers: Bool[Tensor, "B L"],
        generator: torch.Generator,
        linkable: Bool[Tensor, "B keys"] | None = None,
    ) -> Int[Tensor, "B L"]:
        """Draw texts like ``Recall``, with links in place of some fillers.

        Links are between keys that are ``linkable`` (None: all).
        """
        tokens = super()._write_tokens(keys, values, asks, answers, generator)
        others = 1 - self.fact_rate - self.question_rate
        link = torch.rand(tokens.shape, generator=generator) * others < self.link_rate
        pairs = (values[:, :, None] == values[:, None]) & ~torch.eye(self.keys, dtype=torch.bool)
        if linkable is not None:
            pairs &= linkable[:, :, None] & linkable[:, None]
        drawn = torch.multinomial(pairs.flatten(1).double(), tokens.shape[1], replacement=True, generator=generator)
        return torch.where(link & (tokens >= self.first_filler), self.first_link + drawn, tokens)


def _remove_questions(
    asks: Bool[Tensor, "B L"], answers: Bool[Tensor, "B L"], places: Int[Tensor, " B"]
) -> tuple[Bool[Tensor, "B L"], Bool[Tensor, "B L"]]:
    """Return questions and answers without those that have a token at ``places``.

    ``places`` has one token in each text, which is neither its first nor its last.
    """
    there = torch.arange(asks.shape[1]) == places[:, None]
    gone = (asks & there) | (answers & there).roll(-1, 1)
    return asks & ~gone, answers & ~gone.roll(1, 1)
