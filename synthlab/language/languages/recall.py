"""Associative recall, and tracking: each text assigns a value to each key, and is a sequence of units.

A unit is a fact (one token for a key and its value), a question and its answer (two tokens, one for the key and one for
the value) or a filler (one token).
"""

from typing import Annotated, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor

from synthlab.errors import InputError
from synthlab.language.languages.source import LanguageTask, Questions

Many = Annotated[int, Field(gt=0, le=1000)]
Several = Annotated[int, Field(gt=1, le=1000)]
Probability = Annotated[float, Field(ge=0, le=1)]
SPARE_KEYS = 3  # number of keys beyond the values: without the two of a question, two others still share a value


class Recall(LanguageTask):
    """A language of facts, with probability ``facts``, questions with answers, with ``questions``, else fillers.

    Keys, fillers and, in each text, the values are uniform.

    Tokens, in this order: ``keys`` x ``values`` facts, ``keys`` questions, ``values`` answers, ``fillers``.
    """

    kinds: ClassVar = {"recall": 2}

    def __init__(self, keys: Several, values: Several, fillers: Many, facts: Probability, questions: Probability):
        if facts + questions > 1:
            raise InputError(f"task.facts={facts:g}: must be at most 1 - task.questions={questions:g}")
        self.first_question = keys * values
        self.first_answer = self.first_question + keys
        self.first_filler = self.first_answer + values
        self.vocabulary = self.first_filler + fillers
        self.keys, self.values, self.fillers = keys, values, fillers
        self.fact_rate, self.question_rate = facts, questions

    def draw(self, batch, length, generator, held_out=False):
        # A unit has 1 + q tokens on average, of which q are answers. So a window starts between a question and its
        # answer with probability q / (1 + q).
        orphan_rate = self.question_rate / (1 + self.question_rate)
        orphaned = torch.rand(batch, generator=generator) < orphan_rate
        asks = torch.rand(batch, length, generator=generator) < self.question_rate
        answers = _seconds(asks, orphaned)
        keys = torch.randint(self.keys, (batch, length), generator=generator)
        return self._write_tokens(keys, self._facts(batch, generator), asks & ~answers, answers, generator)

    def predict(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L V"] | None:
        """Return predictions by Bayes' rule over the values of all keys.

        A first token that is an answer without its question is evidence that some key, each equally likely, has this
        value.
        """
        tokens = tokens.cpu()
        batch, length = tokens.shape
        beliefs = self._beliefs(tokens)  # B L keys values
        probabilities = torch.zeros(batch, length, self.vocabulary, dtype=torch.float64)
        probabilities[..., : self.first_question] = beliefs.flatten(2) * (self.fact_rate / self.keys)
        probabilities[..., self.first_question : self.first_answer] = self.question_rate / self.keys
        filler = max(0.0, 1 - self.fact_rate - self.question_rate)  # rounding may make it negative
        probabilities[..., self.first_filler :] = filler / self.fillers
        asked = self._are_questions(tokens)
        keys = (tokens[asked] - self.first_question)[:, None, None].expand(-1, 1, self.values)
        probabilities[asked] = 0
        answers = slice(self.first_answer, self.first_filler)
        probabilities[..., answers][asked] = beliefs[asked].gather(1, keys)[:, 0]
        return probabilities.log()

    def questions(self, count, length, depth, generator, kind="recall"):
        """Return questions in texts that are otherwise sampled as usual, but with the other keys only.

        Return None if the language has no facts.
        """
        if not self.fact_rate:
            return None
        place = self._place(length, depth, self.kinds[kind])
        asks, answers = self._draw_around(count, place, length, generator)
        wanted = torch.randint(self.keys, (count, 1), generator=generator)
        keys = (wanted + torch.randint(1, self.keys, (count, length), generator=generator)) % self.keys
        values = self._facts(count, generator)
        tokens = self._write_tokens(keys, values, asks, answers, generator)
        answer = values.gather(1, wanted)[:, 0]
        tokens[:, place] = wanted[:, 0] * self.values + answer
        tokens[:, -1] = self.first_question + wanted[:, 0]
        return Questions(tokens, self.first_answer + answer)

    def _place(self, length: int, depth: float, needed: int) -> int:
        """Return the place of the fact at the fraction ``depth`` of a text of ``length`` tokens.

        The fact and the tokens that must follow it are ``needed`` tokens. Raises InputError.
        """
        if length < needed:
            told = "a fact and a question" if needed == 2 else "a fact, a link and a question"
            raise InputError(f"length={length}: must be at least {needed}, {told}")
        if not 0 <= depth <= 1:
            raise InputError(f"depth={depth:g}: must be from 0, the beginning of the text, to 1, its end")
        return round(depth * (length - needed))

    def _draw_around(
        self, count: int, place: int, length: int, generator: torch.Generator
    ) -> tuple[Bool[Tensor, "B L"], Bool[Tensor, "B L"]]:
        """Draw the questions and answers of texts in which units begin at ``place`` and at the last token."""
        asks, answers = (torch.zeros(count, length, dtype=torch.bool) for _ in range(2))
        whole = torch.zeros(count, dtype=torch.bool)
        # The process is stationary and symmetric in time. So the tokens before the fact are sampled backwards, and the
        # first token may be an answer to a question before the window.
        seen = torch.rand(count, place, generator=generator) < self.question_rate
        second = _seconds(seen, whole)
        answers[:, :place], asks[:, :place] = (seen & ~second).flip(1), second.flip(1)
        # The tokens between the fact and the question are sampled given that a unit ends with the last of them.
        # reach[r]: the probability that a unit ends r tokens after another; a unit of two tokens leaves r - 2.
        between = length - place - 2
        remaining = torch.arange(between, 0, -1)
        reach = (1 - (-self.question_rate) ** torch.arange(between + 1.0, dtype=torch.float64).add(1)) / (
            1 + self.question_rate
        )
        pairs = self.question_rate * reach[(remaining - 2).clamp(min=0)] / reach[remaining]
        seen = torch.rand(count, between, generator=generator) < pairs.where(remaining > 1, 0)
        second = _seconds(seen, whole)
        asks[:, place + 1 : -1], answers[:, place + 1 : -1] = seen & ~second, second
        return asks, answers

    def _facts(self, batch: int, generator: torch.Generator) -> Int[Tensor, "B keys"]:
        """Draw each text's values."""
        return torch.randint(self.values, (batch, self.keys), generator=generator)

    def _write_tokens(
        self,
        keys: Int[Tensor, "B L"],
        values: Int[Tensor, "B keys"],
        asks: Bool[Tensor, "B L"],
        answers: Bool[Tensor, "B L"],
        generator: torch.Generator,
    ) -> Int[Tensor, "B L"]:
        """Draw texts with the given places of questions and answers; all other tokens are facts and fillers.

        ``keys`` holds the key of the unit that begins at a token; for an answer without a question, it is the answer's
        key.
        """
        shape = keys.shape
        about = keys.where(~answers, torch.cat([keys[:, :1], keys[:, :-1]], 1))
        value = values.gather(1, about)
        others = 1 - self.question_rate
        fact = torch.rand(shape, generator=generator) * others < self.fact_rate
        filler = self.first_filler + torch.randint(self.fillers, shape, generator=generator)
        tokens = torch.where(fact, about * self.values + value, filler)
        tokens = torch.where(asks, self.first_question + about, tokens)
        return torch.where(answers, self.first_answer + value, tokens)

    def _are_questions(self, tokens: Int[Tensor, "B L"]) -> Bool[Tensor, "B L"]:
        return (tokens >= self.first_question) & (tokens < self.first_answer)

    def _beliefs(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L keys values"]:
        """Return the probabilities of each key's values, given the tokens up to each position."""
        known = self._find_known(tokens)  # B L keys values
        unknown = ~known.any(-1)  # B L keys
        orphan = (tokens[:, :1] == self.first_answer + torch.arange(self.values))[:, None]  # B 1 values
        # The key of an answer without a question: the likelihood is 1 / values for a key of unknown value, 1 for a key
        # known to have this value, and 0 for a key with another value.
        agreeing = (known & orphan[:, :, None]).any(-1).sum(-1)
        weight = (unknown.sum(-1) + self.values * agreeing).clamp(min=1)
        # B L 1: the probability that it is about a given key of unknown value.
        about = (orphan.any(-1) / weight.double())[..., None]
        guess = about * orphan + (1 - about) / self.values  # B L values
        return torch.where(unknown[..., None], guess[:, :, None], known.double())

    def _find_known(self, tokens: Int[Tensor, "B L"]) -> Bool[Tensor, "B L keys values"]:
        """Return True where a fact or an answered question up to the position shows that a key has a value."""
        batch, length = tokens.shape
        before = torch.cat([torch.full_like(tokens[:, :1], -1), tokens[:, :-1]], 1)
        answered = self._are_questions(before) & (tokens >= self.first_answer) & (tokens < self.first_filler)
        pair = (before - self.first_question) * self.values + tokens - self.first_answer
        nothing = self.first_question
        pairs = tokens.clamp(max=nothing).where(~answered, pair)
        places = torch.arange(length)
        first = torch.full((batch, nothing + 1), length).scatter_reduce_(1, pairs, places.expand(batch, -1), "amin")
        first = first[:, :-1].unflatten(1, (self.keys, self.values))
        # If a window contradicts itself, which no text of the language does, the first fact counts.
        first = first.where(first == first.amin(-1, keepdim=True), length)
        return places[:, None, None] >= first[:, None]


class Tracking(Recall):
    """A language like ``Recall`` that also has links, "key a has the value of key b", with probability ``links``.

    Links are true: each is uniform over the ordered pairs of different keys that share a value in the text. Source:
    RULER's variable tracking (Hsieh et al., 2024, arXiv 2404.06654).

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
        if keys < values + SPARE_KEYS:
            raise InputError(
                f"task.keys={keys}: must be at least task.values={values} and {SPARE_KEYS} more, so that any text "
                f"has keys to link"
            )
        self.first_link = self.vocabulary
        self.vocabulary += keys**2
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


def _seconds(begins: Bool[Tensor, "B L"], cut: Bool[Tensor, " B"]) -> Bool[Tensor, "B L"]:
    """Return True for tokens that are the second of a unit of two.

    ``begins`` is True where a unit that begins at the token has two tokens; ``cut`` is True if the window's first token
    is the second of a unit.
    """
    length = begins.shape[1]
    places = torch.arange(length)
    # A unit ends wherever ``begins`` is false, after one token or two. From there on, first and second tokens
    # alternate. ends: the last such place before each token, or -1 in a window that begins with a unit.
    ends = torch.cat([-1 - cut.long()[:, None], places.where(~begins, -2)], 1).cummax(1).values[:, :length]
    return (places - ends) % 2 == 0
