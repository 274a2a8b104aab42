"""Requirements of the harness's RULER tasks besides data sets: NLTK's sentences, two files of questions, and length.

The harness makes RULER's texts itself. Some of its loops never end if a length is too short for a text, and catch
whatever could end them; so lengths are checked before.
"""

import io
import json
import math
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from synthlab.errors import InputError
from synthlab.huggingface.benchmarks.data import DataSource
from synthlab.huggingface.benchmarks.sample import Encode

TASKS = "lm_eval.tasks.ruler"
GROUPS = ("ruler", "longcxt")  # groups with all its tasks
NAMES = ("ruler", "niah_", *GROUPS)  # prefixes of names of its tasks and groups
PUNKT = "nltk_data/tokenizers/punkt_tab/english"
DRAWS = 4  # number of texts that are made to measure the shortest
MARGIN = 1.1  # margin for longer texts than those


@contextmanager
def ruler_files(source: DataSource) -> Generator[None]:
    """Let RULER's tasks find their files in the source while the block runs.

    They are NLTK's ``punkt_tab`` below ``nltk_data``, and the files of SQuAD and HotpotQA below ``ruler``, by their
    names.

    Raises:
        InputError: A file is missing when a task that needs it is made.
    """
    import nltk  # pyright: ignore[reportMissingImports]
    import requests  # pyright: ignore[reportMissingModuleSource]

    path, download, get = list(nltk.data.path), nltk.download, requests.get
    if source.folder is None:
        nltk.download = partial(download, quiet=True, print_error_to=io.StringIO())
    else:
        nltk.download = lambda *_, **__: False  # nothing is downloaded if there is a folder
        nltk.data.path.append(str(source.folder / "nltk_data"))
    requests.get = partial(_file_of, get, source)
    try:
        yield
    except LookupError as error:
        if "punkt" not in str(error):
            raise
        raise _explain_missing_punkt(source, error) from None
    finally:
        nltk.data.path[:], nltk.download, requests.get = path, download, get
        _forget()


def _file_of(get: Callable[..., Any], source: DataSource, url: str, **options: Any) -> Any:
    """Return what ``requests.get`` returns, for a file of questions."""
    name = url.rsplit("/", 1)[-1]
    if source.folder is None:
        try:
            return get(url, **options)
        except OSError as error:  # includes those of requests
            raise source.make_error(url, f"ruler/{name}", type(error).__name__) from None
    try:
        content = json.loads((source.folder / "ruler" / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise source.make_error(url, f"ruler/{name}") from None
    return SimpleNamespace(raise_for_status=lambda: None, json=lambda: content)


def _explain_missing_punkt(source: DataSource, error: LookupError) -> InputError:
    if "Refused, writable" in str(error):
        place = "nltk_data" if source.folder is None else source.folder / "nltk_data"
        return InputError(f"{source.field}: NLTK reads no {place} that others may write to; chmod -R go-w {place}")
    return source.make_error("NLTK's punkt_tab", PUNKT)


def _forget() -> None:
    """Reset RULER's modules for the next call: they keep texts, tokenizers, and a running generator."""
    for name in [name for name in sys.modules if name == TASKS or name.startswith(f"{TASKS}.")]:
        del sys.modules[name]
    sentences = sys.modules.get("nltk.tokenize")
    for each in vars(sentences).values() if sentences is not None else ():
        if hasattr(each, "cache_clear"):
            each.cache_clear()


def check_room(names: Iterable[str], lengths: Sequence[int], encode: Encode) -> None:
    """Raise InputError for lengths that are too short for RULER's texts with this tokenizer.

    Args:
        names: Tasks and groups.
        lengths: In tokens; 4,096 if empty, as in the harness.
        encode: Returns a text's tokens.

    Raises:
        InputError: A length is shorter than the shortest text, or a tokenizer makes too many tokens of an example.
    """
    for name, least_of in LEAST.items():
        if not {name, *GROUPS} & set(names):
            continue
        for length in lengths or (4096,):
            least = math.ceil(MARGIN * max(least_of(encode, length) for _ in range(DRAWS)))
            if length < least:
                raise InputError(f"lengths={length}: must be at least {least} for {name}, with this tokenizer")


def _common_words(encode: Encode, length: int) -> int:
    """Count the tokens of the shortest prompt of ``ruler_cwe``, with its example and the answer's 10 words."""
    example, text, answer = import_module(f"{TASKS}.cwe_utils").generate_input_output(10, length)
    return len(encode(f"{example}\n{text} {' '.join(f'{i}. {word}' for i, word in enumerate(answer))}")) + 120


def _tracking(encode: Encode, _: int) -> int:
    """Count the tokens of the shortest prompt of ``ruler_vt``: an example of at most 500 tokens, and 10 sentences."""
    make = import_module(f"{TASKS}.vt_utils").generate_input_output
    example, names = make(5, 1, 4, is_icl=True)
    least = math.ceil(MARGIN * (len(encode(f"{example} {names}")) + 30))
    if least > 500:
        raise InputError(f"tokenizer: must cut the example of ruler_vt into 500 tokens at most; this one takes {least}")
    text, names = make(10, 1, 4)
    return 500 + len(encode(f"{text} {names}")) + 30


def _frequent_words(encode: Encode, _: int) -> int:
    """Count the tokens of a text of ``ruler_fwe`` in which the third word occurs once.

    It has 50 tokens for each of 4 words.
    """
    template = import_module(f"{TASKS}.fwe_utils").TEMPLATE
    return max(200, len(encode(template.format(context=" ".join(["qwzxkv"] * 32), query=""))))


LEAST: dict[str, Callable[[Encode, int], int]] = {
    "ruler_cwe": _common_words,
    "ruler_vt": _tracking,
    "ruler_fwe": _frequent_words,
}
