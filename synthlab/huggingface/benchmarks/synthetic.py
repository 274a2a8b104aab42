"""Synthetic tasks by name, and their samples."""

import math
from collections.abc import Callable, Iterator, Sequence, Sized

from synthlab.config.argument_checks import check_arguments, shorten
from synthlab.config.registry import show
from synthlab.errors import InputError
from synthlab.huggingface.benchmarks.draws import Draws
from synthlab.huggingface.benchmarks.sample import Draft, Encode, Sample, fit_to_length
from synthlab.huggingface.benchmarks.synthetic_texts import (
    common_words,
    facts,
    frequent_words,
    needle,
    needle_keys,
    needle_values,
    tracking,
)

SYNTHETIC: dict[str, Callable[[Draws, float], Draft]] = {
    "needle": needle,
    "needle_keys": needle_keys,
    "needle_values": needle_values,
    "tracking": tracking,
    "common_words": common_words,
    "frequent_words": frequent_words,
    "facts": facts,
}
LONGEST = 10**7  # the most tokens of a text
WITHOUT_DEPTH = ("common_words", "frequent_words")


@check_arguments
def samples(
    task: str, length: int, count: int, encode: Encode, seed: int = 0, depth: float | None = None
) -> Iterator[Sample]:
    """Yield samples of a task, each of at most ``length`` tokens with its answers.

    Samples are as long as whole sentences allow: another sentence of the shortest kind, or the next word, would exceed
    the length.

    Sample i is the same whatever ``count`` is.

    Args:
        task: A name of ``SYNTHETIC``.
        length: The number of tokens of a text, its question and the answers.
        count: The number of samples.
        encode: Returns a text's tokens: ``lambda text: tokenizer(text)["input_ids"]`` for a tokenizer of Transformers,
            ``synthlab.language.languages.text.Text.encode`` for bytes.
        seed: The seed of the samples.
        depth: The place of the queried fact, from 0, the beginning, to 1, the end. Uniform by default.

    Returns:
        An iterator over the samples, which are made one by one.

    Raises:
        InputError: There is no such task or depth, or the task has no text of this length.

    Example:
        >>> from synthlab.huggingface.benchmarks.synthetic import samples
        >>> [sample] = samples("needle", 64, 1, str.encode, seed=1)
        >>> print(sample.prompt)
        The code of vafa is 41599. It rained.
        The code of vafa is
        >>> sample.target, sample.tokens, sample.room
        (' 41599', 63, 6)
    """
    if not 1 <= length <= LONGEST:
        raise InputError(f"length={shorten(length)}: must be from 1 to {LONGEST:,} tokens")
    if seed < 0 or count < 0:
        raise InputError(f"count={shorten(count)} seed={shorten(seed)}: must be 0 or more")
    if task not in SYNTHETIC:
        raise InputError(f"task={show(task)}: must be one of {', '.join(SYNTHETIC)}")
    if depth is not None and not 0 <= depth <= 1:
        raise InputError(f"depth={depth:g}: must be from 0, the beginning of the text, to 1, its end")
    if depth is not None and task in WITHOUT_DEPTH:
        raise InputError(f"depth={depth:g}: must be left out; the answer of {task} is spread over the text")

    def tokens(text: str) -> Sequence[int]:
        encoded = encode(text)
        if not isinstance(encoded, Sized):
            raise InputError(f"encode: gives {shorten(encoded)} for a text; must give its tokens, a list")
        return encoded

    key = (length,) if depth is None else (length, math.floor(depth * 1e6))
    for index in range(count):
        draws = Draws(seed, task, *key, index)
        yield fit_to_length(
            SYNTHETIC[task](draws, draws.draw_between(0, 1) if depth is None else depth), length, tokens, task
        )


def share_of_answers(answers: tuple[str, ...] | list[str], text: str) -> float:
    """Return the share of the answers that occur in a text, as whole words.

    Example:
        >>> from synthlab.huggingface.benchmarks.synthetic import share_of_answers
        >>> share_of_answers(("ab", "cd"), "ab, cde")
        0.5
    """
    words = "".join(letter if letter.isalnum() else " " for letter in text).split()
    return sum(answer in words for answer in answers) / len(answers)
