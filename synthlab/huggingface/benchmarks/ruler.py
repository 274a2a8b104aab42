"""The shortest texts of the harness's RULER tasks.

Some of RULER's loops never end if a length has no room for a text, so lengths are checked before.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

from synthlab.errors import InputError

Encode = Callable[[str], Sequence[int]]  # from a text to its tokens
GROUPS = ("ruler", "longcxt")  # groups with all its tasks
DRAWS, MARGIN = 4, 1.1  # number of texts that are made to measure the shortest; margin for longer ones
EXAMPLE = 500  # tokens that ruler_vt leaves for its example


def check_room(names: Iterable[str], lengths: Sequence[int], encode: Encode) -> None:
    """Raise InputError for lengths, in tokens, that are too short for RULER's texts with this tokenizer."""
    for name, least_of in SHORTEST.items():
        if not {name, *GROUPS} & set(names):
            continue
        for length in lengths:
            least = math.ceil(MARGIN * max(least_of(encode, length) for _ in range(DRAWS)))
            if length < least:
                raise InputError(f"lengths={length}: must be at least {least} for {name}, with this tokenizer")


def _common_words(encode: Encode, length: int) -> int:
    """Count the tokens of an example, 10 words, their list as the answer, and those that the model may write."""
    example, text, answer = import_module("lm_eval.tasks.ruler.cwe_utils").generate_input_output(10, length)
    return len(encode(f"{example}\n{text} {' '.join(f'{i}. {word}' for i, word in enumerate(answer))}")) + 120


def _tracking(encode: Encode, _: int) -> int:
    """Count the tokens of 10 sentences with an example, and those that the model may write."""
    generate = import_module("lm_eval.tasks.ruler.vt_utils").generate_input_output
    example, names = generate(5, 1, 4, is_icl=True)
    least = math.ceil(MARGIN * (len(encode(f"{example} {names}")) + 30))
    if least > EXAMPLE:
        raise InputError(f"tokenizer: must cut the example of ruler_vt into {EXAMPLE} tokens; this one takes {least}")
    text, names = generate(10, 1, 4)
    return EXAMPLE + len(encode(f"{text} {names}")) + 30


SHORTEST: dict[str, Callable[[Encode, int], int]] = {"ruler_cwe": _common_words, "ruler_vt": _tracking}
