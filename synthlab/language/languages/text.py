"""Text as bytes: the source of Python's standard library, which every machine has, or a file of the user."""

import hashlib
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import torch
from jaxtyping import UInt8
from pydantic import Field
from torch import Tensor

from synthlab.errors import InputError
from synthlab.language.languages.source import LanguageTask
from synthlab.runs.registry import show

Digest = Annotated[str, Field(pattern="^[0-9a-f]{16}$")]


class Text(LanguageTask):
    """The first ``bytes`` bytes of the file ``path``; null is the modules of Python's library, sorted by name.

    The fraction ``held_out`` at the end is for tests only.

    ``digest`` is the checksum that the bytes must have; null accepts any. Raises InputError for a file that cannot be
    read or has changed.
    """

    vocabulary = 256

    def __init__(
        self,
        path: str | None,
        bytes: Annotated[int, Field(gt=0, le=10**9)],
        held_out: Annotated[float, Field(gt=0, lt=1)],
        digest: Digest | None,
    ):
        text, self.digest = _content(path, bytes)
        if digest not in (None, self.digest):
            raise InputError(
                f"task.digest={digest}: must be that of the text, which has changed: the first {len(text)} "
                f"bytes of task.path={_name_path(path)} now have {self.digest}; null takes them as they are"
            )
        kept = round(len(text) * held_out)
        self.path, self.parts = path, {False: text[:-kept], True: text[-kept:]}

    def draw(self, batch, length, generator, held_out=False):
        """Sample windows. Raises InputError for windows longer than the part."""
        part = self.parts[held_out]
        if length > len(part):
            raise InputError(
                f"task.path={_name_path(self.path)}: has {len(part)} bytes for {'tests' if held_out else 'training'}, "
                f"so windows must be at most as long, not {length}"
            )
        starts = torch.randint(len(part) - length + 1, (batch, 1), generator=generator)
        return part[starts + torch.arange(length)].long()

    def encode(self, text):
        try:
            return list(text.encode())
        except UnicodeEncodeError:  # half of a surrogate pair
            raise InputError(f"sequences: {text!r:.40}: must be text that UTF-8 can encode") from None

    def decode(self, token):
        return repr(bytes([token]))[2:-1]

    def complete_arguments(self):
        return {"digest": self.digest}


@lru_cache(maxsize=8)
def _content(path: str | None, limit: int) -> tuple[UInt8[Tensor, " N"], str]:
    """Return the first ``limit`` bytes of a text, and their checksum. Raises InputError."""
    data = bytearray()
    try:
        for file in _library() if path is None else [Path(path)]:
            with file.open("rb") as opened:
                data += opened.read(limit - len(data))
        if not data:
            raise ValueError("is empty")
    except (OSError, ValueError) as error:  # a name too long, or with a zero byte
        reason = getattr(error, "strerror", None) or error
        must = "must be a file of text, or null for the modules of Python's library"
        raise InputError(f"task.path={_name_path(path)}: {reason}; {must}") from None
    return torch.frombuffer(data, dtype=torch.uint8), hashlib.sha256(data).hexdigest()[:16]


def _name_path(path: str | None) -> str:
    """Return the path on one line, whatever characters it has."""
    return show(path) if path is None or path.isprintable() else repr(path)


def _library() -> list[Path]:
    """Return the single-file modules of the library, without files made for one machine, such as its build settings."""
    folder = Path(sysconfig.get_path("stdlib"))
    return sorted(path for path in folder.glob("*.py") if path.stem in sys.stdlib_module_names)
