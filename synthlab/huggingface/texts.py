"""A user's texts: the documents of a file or a folder."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from synthlab.errors import InputError
from synthlab.storage.files import reason_of

LINES = ".jsonl"  # in these files each line is a document, in others the whole file is
SUFFIXES = (".txt", ".md", LINES)  # suffixes of the files that are read in a folder


class Text(NamedTuple):
    """A document: its place and its text."""

    name: str
    text: str


def read_texts(path: str, key: str = "text") -> Iterator[Text]:
    """Yield the documents of a file or a folder, sorted by name; ``key`` is that of the text in a line of .jsonl.

    Raises InputError for a file that cannot be read, or has no text in UTF-8.
    """
    root = Path(path)
    try:
        files = [root]
        if root.is_dir():
            files = sorted(file for file in root.rglob("*") if file.suffix in SUFFIXES and file.is_file())
        if not files:
            raise InputError(f"texts={root}: has no file that ends in {', '.join(SUFFIXES)}")
        for file in files:
            name = str(file.relative_to(root)) if file != root else file.name
            content = file.read_text(encoding="utf-8")
            if file.suffix == LINES:
                yield from _read_lines(file, name, content, key)
            else:
                yield Text(name, content)
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"texts={path}: {error.reason} at byte {error.start}; must be text in UTF-8") from None
    except (OSError, ValueError) as error:
        raise InputError(f"texts={path:.200}: cannot be read ({reason_of(error)})") from None


def _read_lines(file: Path, name: str, content: str, key: str) -> Iterator[Text]:
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            text = json.loads(line)[key]
            text.encode()  # JSON may escape surrogates, which no tokenizer reads
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise InputError(f"texts={file}: line {number} is no JSON with a text under key={key}") from None
        yield Text(f"{name}:{number}", text)
