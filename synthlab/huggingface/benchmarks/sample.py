"""Samples of a benchmark: a text that ends with a question, the answers, and how to reach a length."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from synthlab.errors import InputError

Encode = Callable[[str], Sequence[int]]  # from a text to its tokens, with those that a tokenizer adds to each text
Unit = tuple[float | None, str]  # a sentence or a word, and its place: a sort key, or None for an even spread


@dataclass(frozen=True)
class Sample:
    """A text, its question and its answers.

    Attributes:
        prompt: The text and the beginning of the answer, such as ``... The code of tavu is``.
        answers: The expected answers, in any order.
        depth: The place of the queried fact, from 0, the beginning, to 1; of several facts, the first. NaN if the
            answer is spread over the whole text.
        tokens: The number of tokens of the prompt and the answers together, ``prompt + target``.
        room: The number of these tokens that belong to the answers.
    """

    prompt: str
    answers: tuple[str, ...]
    depth: float
    tokens: int
    room: int

    @property
    def target(self) -> str:
        """The answers as they follow the prompt: `` 48213, 90210``."""
        return join_answers(self.answers)

    def encoded(self, encode: Encode) -> tuple[list[int], int]:
        """Return the tokens of the prompt with its answers, and the place of the first of the answers' tokens."""
        return list(encode(self.prompt + self.target)), self.tokens - self.room


@dataclass(frozen=True)
class Draft:
    """A sample before its length is fixed.

    Attributes:
        placed: The facts that give the answer, with their places, from 0 to 1.
        units: The units that lengthen a text, unlimited or finite.
        question: The end of the text.
        answers: The answers, for any number of units.
        depth: As in ``Sample``.
        opening: The beginning of the text.
        fillers: Units that may be added to any others, any number of times, the longest first.
    """

    placed: Sequence[tuple[float, str]]
    units: Iterator[Unit]
    question: str
    answers: tuple[str, ...]
    depth: float
    opening: str = ""
    fillers: tuple[Unit, ...] = ()

    def prompt(self, units: Sequence[Unit]) -> str:
        """Return the prompt with these units."""
        spread = [((i + 0.5) / len(units) if place is None else place, text) for i, (place, text) in enumerate(units)]
        items = sorted([*self.placed, *spread], key=lambda item: item[0])
        return f"{self.opening}{' '.join(text for _, text in items)}\n{self.question}"


def join_answers(answers: Sequence[str]) -> str:
    """Return answers as they follow a prompt."""
    return " " + ", ".join(answers)


def fit_to_length(draft: Draft, length: int, encode: Encode, task: str) -> Sample:
    """Return the sample of a draft with as many units as fit into ``length`` tokens.

    Raises:
        InputError: The draft is longer than that without any unit, or has too few units, or units have no tokens.
    """

    def size(units: Sequence[Unit]) -> int:
        return len(encode(draft.prompt(units) + join_answers(draft.answers)))

    least = size([])
    if least > length:
        raise InputError(f"length={length}: must be at least {least}, which a text of {task} takes with this tokenizer")
    units: list[Unit] = []
    held, reached = 0, least
    while reached <= length:
        held, before = len(units), reached
        units += islice(draft.units, max(8, len(units)))
        reached = size(units)
        if reached <= before:
            what = "has no longer text" if len(units) == held else "gets no more tokens from this tokenizer"
            raise InputError(f"length={length}: must be less; {task} {what} than {before} tokens")
    over = len(units)
    while over - held > 1:  # up to ``held`` units fit, ``over`` units do not
        middle = (held + over) // 2
        held, over = (middle, over) if size(units[:middle]) <= length else (held, middle)
    units = units[:held]
    tokens = size(units)
    for filler in draft.fillers:
        while tokens < (more := size([*units, filler])) <= length:
            units.append(filler)
            tokens = more
    prompt = draft.prompt(units)
    return Sample(prompt, draft.answers, draft.depth, tokens, max(1, tokens - len(encode(prompt))))
