"""Facts and questions about them: what a model that remembers can say, and one that forgets cannot.

Each text has a value for each of its keys. It is a stream of units: a fact (one token, which tells a key's value), a
question for a key and after it the answer (two tokens, of which the answer tells the value alone), or a filler.
"""

from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor

from synthlab.errors import InputError
from synthlab.language.source import Language, Questions

Many = Annotated[int, Field(gt=0, le=1000)]
Several = Annotated[int, Field(gt=1, le=1000)]
Chance = Annotated[float, Field(ge=0, le=1)]
TOKENS = 10_000


class Recall(Language):
    """A unit is a fact with probability ``facts``, a question and its answer with probability ``questions``, else a
    filler; keys, fillers and, in each text, the values are uniform.

    Tokens, in this order: ``keys`` x ``values`` facts, ``keys`` questions, ``values`` answers, ``fillers``.
    """

    def __init__(self, keys: Several, values: Several, fillers: Many, facts: Chance, questions: Chance):
        if facts + questions > 1:
            raise InputError(f"language.facts={facts:g}: must be at most 1 - language.questions={questions:g}")
        self.first_question = keys * values
        self.first_answer = self.first_question + keys
        self.first_filler = self.first_answer + values
        self.vocabulary = self.first_filler + fillers
        if self.vocabulary > TOKENS:
            raise InputError(
                f"language.keys={keys}: with language.values={values} and language.fillers={fillers} makes "
                f"{self.vocabulary} tokens; must be at most {TOKENS}"
            )
        self.keys, self.values, self.fillers = keys, values, fillers
        self.fact_share, self.question_share = facts, questions

    def draw(self, batch, length, generator, held_out=False):
        # Of 1 + questions tokens, as many as a unit has on average, so many are answers: the share of windows that
        # begin between a question and its answer.
        asked = self.question_share / (1 + self.question_share)
        orphaned = torch.rand(batch, generator=generator) < asked
        asks = torch.rand(batch, length, generator=generator) < self.question_share
        answers = _seconds(asks, orphaned)
        keys = torch.randint(self.keys, (batch, length), generator=generator)
        return self._spelt(keys, self._facts(batch, generator), asks & ~answers, answers, generator)

    def predict(self, tokens):
        """Bayes' rule over the values of all keys.

        Only a window's first token can be an answer whose question is not seen. It says that some key, each as likely,
        has that value; facts that are learned later make it likelier that it was one key rather than another.
        """
        tokens = tokens.cpu()
        batch, length = tokens.shape
        beliefs = self._beliefs(tokens)  # B L keys values
        chances = torch.zeros(batch, length, self.vocabulary, dtype=torch.float64)
        chances[..., : self.first_question] = beliefs.flatten(2) * (self.fact_share / self.keys)
        chances[..., self.first_question : self.first_answer] = self.question_share / self.keys
        filler = max(0.0, 1 - self.fact_share - self.question_share)  # rounding may leave less than nothing
        chances[..., self.first_filler :] = filler / self.fillers
        asked = self._asks(tokens)
        keys = (tokens[asked] - self.first_question)[:, None, None].expand(-1, 1, self.values)
        chances[asked] = 0
        answers = slice(self.first_answer, self.first_filler)
        chances[..., answers][asked] = beliefs[asked].gather(1, keys)[:, 0]
        return chances.log()

    def questions(self, count, length, depth, generator):
        """The rest of the text is the usual stream, but about the other keys. None where no unit is a fact."""
        if not self.fact_share:
            return None
        if length < 2:
            raise InputError(f"length={length}: must be at least 2, a fact and a question")
        if not 0 <= depth <= 1:
            raise InputError(f"depth={depth:g}: must be from 0, the beginning of the text, to 1, its end")
        place = round(depth * (length - 2))
        asks, answers = self._around(count, place, length, generator)
        wanted = torch.randint(self.keys, (count, 1), generator=generator)
        keys = (wanted + torch.randint(1, self.keys, (count, length), generator=generator)) % self.keys
        values = self._facts(count, generator)
        tokens = self._spelt(keys, values, asks, answers, generator)
        answer = values.gather(1, wanted)[:, 0]
        tokens[:, place] = wanted[:, 0] * self.values + answer
        tokens[:, -1] = self.first_question + wanted[:, 0]
        return Questions(tokens, self.first_answer + answer)

    def _around(
        self, count: int, place: int, length: int, generator: torch.Generator
    ) -> tuple[Bool[Tensor, "B L"], Bool[Tensor, "B L"]]:
        """Which tokens are questions and answers of texts in which units begin at ``place`` and at the last token."""
        asks, answers = (torch.zeros(count, length, dtype=torch.bool) for _ in range(2))
        whole = torch.zeros(count, dtype=torch.bool)
        # A stream that has no beginning is the same read backwards: a unit that ends just before the fact is a question
        # and its answer as often as any, and the first token may be an answer to something before the window.
        seen = torch.rand(count, place, generator=generator) < self.question_share
        second = _seconds(seen, whole)
        answers[:, :place], asks[:, :place] = (seen & ~second).flip(1), second.flip(1)
        # What lies between the fact and the question is known to end with a unit's end. reach[r]: the probability that
        # a unit ends r tokens after another one; a unit of two tokens leaves r - 2 for the others.
        between = length - place - 2
        remaining = torch.arange(between, 0, -1)
        reach = (1 - (-self.question_share) ** torch.arange(between + 1.0, dtype=torch.float64).add(1)) / (
            1 + self.question_share
        )
        pairs = self.question_share * reach[(remaining - 2).clamp(min=0)] / reach[remaining]
        seen = torch.rand(count, between, generator=generator) < pairs.where(remaining > 1, 0)
        second = _seconds(seen, whole)
        asks[:, place + 1 : -1], answers[:, place + 1 : -1] = seen & ~second, second
        return asks, answers

    def _facts(self, batch: int, generator: torch.Generator) -> Int[Tensor, "B keys"]:
        """Each text's values."""
        return torch.randint(self.values, (batch, self.keys), generator=generator)

    def _spelt(
        self,
        keys: Int[Tensor, "B L"],
        values: Int[Tensor, "B keys"],
        asks: Bool[Tensor, "B L"],
        answers: Bool[Tensor, "B L"],
        generator: torch.Generator,
    ) -> Int[Tensor, "B L"]:
        """The tokens of texts whose questions and answers are where they are; all others are facts and fillers.
        ``keys``: of the unit that begins at a token, for an answer without a question of the key it is about."""
        shape = keys.shape
        about = keys.where(~answers, torch.cat([keys[:, :1], keys[:, :-1]], 1))
        value = values.gather(1, about)
        others = 1 - self.question_share
        fact = torch.rand(shape, generator=generator) * others < self.fact_share
        filler = self.first_filler + torch.randint(self.fillers, shape, generator=generator)
        tokens = torch.where(fact, about * self.values + value, filler)
        tokens = torch.where(asks, self.first_question + about, tokens)
        return torch.where(answers, self.first_answer + value, tokens)

    def _asks(self, tokens: Int[Tensor, "B L"]) -> Bool[Tensor, "B L"]:
        return (tokens >= self.first_question) & (tokens < self.first_answer)

    def _beliefs(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L keys values"]:
        """The probabilities of each key's values, given the tokens up to each position."""
        known = self._known(tokens)  # B L keys values
        unknown = ~known.any(-1)  # B L keys
        orphan = (tokens[:, :1] == self.first_answer + torch.arange(self.values))[:, None]  # B 1 values
        # Which key was an answer without a question about? One whose value is not known counts 1, one that is known to
        # have this value as often as that was unlikely, and one with another value not at all.
        agreeing = (known & orphan[:, :, None]).any(-1).sum(-1)
        weight = (unknown.sum(-1) + self.values * agreeing).clamp(min=1)
        share = (orphan.any(-1) / weight.double())[..., None]  # B L 1: that it was about a given key not known
        guess = share * orphan + (1 - share) / self.values  # B L values
        return torch.where(unknown[..., None], guess[:, :, None], known.double())

    def _known(self, tokens: Int[Tensor, "B L"]) -> Bool[Tensor, "B L keys values"]:
        """Whether a fact or an answered question has told, up to each position, that a key has a value."""
        batch, length = tokens.shape
        before = torch.cat([torch.full_like(tokens[:, :1], -1), tokens[:, :-1]], 1)
        answered = self._asks(before) & (tokens >= self.first_answer) & (tokens < self.first_filler)
        told = (before - self.first_question) * self.values + tokens - self.first_answer
        nothing = self.first_question
        pairs = tokens.clamp(max=nothing).where(~answered, told)
        places = torch.arange(length)
        first = torch.full((batch, nothing + 1), length).scatter_reduce_(1, pairs, places.expand(batch, -1), "amin")
        first = first[:, :-1].unflatten(1, (self.keys, self.values))
        # In a window that contradicts itself, which the language cannot write, what was told first stands.
        first = first.where(first == first.amin(-1, keepdim=True), length)
        return places[:, None, None] >= first[:, None]


def _seconds(begins: Bool[Tensor, "B L"], cut: Bool[Tensor, " B"]) -> Bool[Tensor, "B L"]:
    """Which tokens are the second of a unit of two. ``begins``: whether a unit that begins at a token has two; ``cut``:
    whether the first token is the second of a unit."""
    length = begins.shape[1]
    places = torch.arange(length)
    # Where ``begins`` is false a unit ends, be it the second token of two or one of its own; from there on firsts and
    # seconds take turns. ends: the last such place before each token; in a window that begins with a unit, -1.
    ends = torch.cat([-1 - cut.long()[:, None], places.where(~begins, -2)], 1).cummax(1).values[:, :length]
    return (places - ends) % 2 == 0
