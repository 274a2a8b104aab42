"""Documents: the texts of an evaluation, and their tokens."""

import hashlib
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from synthlab.errors import InputError
from synthlab.huggingface.perplexity.settings import Settings
from synthlab.storage.files import reason_of

LINES = ".jsonl"  # in these files each line is a document, in others the whole file is
SUFFIXES = (".txt", ".md", LINES)  # suffixes of the files that are read in a folder


class Text(NamedTuple):
    """A document: its place and its text."""

    name: str
    text: str


class Document(NamedTuple):
    """A document as tokens [T], on the CPU, and the average number of UTF-8 bytes of a token."""

    name: str
    tokens: Int[Tensor, " T"]
    bytes_per_token: float

    @property
    def digest(self) -> str:
        """A checksum of the tokens and of their bytes."""
        told = f"{self.bytes_per_token!r} ".encode() + self.tokens.numpy().tobytes()
        return hashlib.sha256(told).hexdigest()


def read_texts(settings: Settings) -> Iterator[Text]:
    """Yield the documents of a file or a folder, sorted by name. Raises InputError for one that cannot be read."""
    root = Path(settings.texts or "")
    try:
        if root.is_dir():
            files = sorted(path for path in root.rglob("*") if path.suffix in SUFFIXES and path.is_file())
        else:
            files = [root]
        if not files:
            raise InputError(f"texts={root}: has no file that ends in {', '.join(SUFFIXES)}")
        for file in files:
            name = str(file.relative_to(root)) if file != root else file.name
            content = file.read_text(encoding="utf-8")
            yield from _lines(file, name, content, settings.key) if file.suffix == LINES else [Text(name, content)]
    except UnicodeDecodeError as error:
        raise InputError(
            f"texts={settings.texts}: {error.reason} at byte {error.start}; must be text in UTF-8"
        ) from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"texts={settings.texts!s:.200}: cannot be read ({reason_of(error)})") from None


def _lines(file: Path, name: str, content: str, key: str) -> Iterator[Text]:
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError(f"texts={file}: line {number} is no JSON") from None
        text = entry.get(key) if isinstance(entry, dict) else None
        if not isinstance(text, str):
            raise InputError(f"key={key}: {file}, line {number}, has no text of that key")
        # JSON may escape surrogates, which no tokenizer reads.
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise InputError(f"key={key}: {file}, line {number}, has half of a surrogate pair; must be text")
        yield Text(f"{name}:{number}", text)


class Documents(NamedTuple):
    """The documents that are long enough, and how many there were."""

    kept: list[Document]
    found: int


def tokenize_documents(settings: Settings, tokenizer: Any, vocabulary: int, begin: int | None) -> Documents:
    """Return the documents as tokens, without those that are shorter than the longest length.

    Args:
        settings: The settings, which name the texts and their number.
        tokenizer: The model's, of Transformers. It adds no token by itself here.
        vocabulary: The number of tokens that the model knows.
        begin: The token that each document begins with; None for none.

    Raises:
        InputError: A text cannot be read; the model does not know a token; no document is long enough.
    """
    longest, most, found, kept = max(settings.lengths), 0, 0, []
    for name, text in islice(read_texts(settings), settings.documents):
        found += 1
        numbers = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        tokens = torch.tensor([*([] if begin is None else [begin]), *numbers], dtype=torch.long)
        if len(tokens) and not 0 <= int(tokens.min()) <= int(tokens.max()) < vocabulary:
            raise InputError(
                f"tokenizer={settings.tokenizer or settings.model}: has token {int(tokens.max())}; the model knows 0 "
                f"to {vocabulary - 1}"
            )
        most = max(most, len(tokens))
        if len(tokens) >= longest:
            size = len(text.encode()) / len(numbers)
            kept.append(Document(name, tokens[: settings.tokens], size))
    if not kept:
        what = (
            f"the longest of {found} documents has {most} tokens" if most else f"{found} documents, all of them empty"
        )
        raise InputError(f"texts={settings.texts}: {what}; lengths={settings.lengths} need {longest} or more")
    return Documents(kept, found)
