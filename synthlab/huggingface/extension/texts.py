"""A user's texts as tokens, cut into windows."""

from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor
from torch.utils.data import Dataset

from synthlab.errors import InputError


def read_tokens(path: str, tokenizer: Any) -> Int[Tensor, " N"]:
    """Return the tokens of a text file, or of all files ``*.txt`` of a folder, sorted by name.

    Each text is followed by the end of text, if the tokenizer has one. Raises InputError for a path that cannot be
    read.
    """
    place = Path(path)
    files = sorted(place.rglob("*.txt")) if place.is_dir() else [place]
    if not files:
        raise InputError(f"texts={path}: has no files *.txt; give a text file, or a folder of such")
    end = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
    tokens: list[int] = []
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not text in UTF-8"
            raise InputError(f"texts={file}: cannot be read ({reason})") from None
        tokens += tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] + end
    return torch.tensor(tokens, dtype=torch.long)


def split_tokens(tokens: Int[Tensor, " N"], held_out: float) -> tuple[Int[Tensor, " A"], Int[Tensor, " B"]]:
    """Return the tokens for training, and those for tests: the share ``held_out`` at the end."""
    kept = len(tokens) - round(len(tokens) * held_out)
    return tokens[:kept], tokens[kept:]


class Windows(Dataset[dict[str, Tensor]]):
    """Consecutive pieces of ``length`` tokens, as rows for a ``Trainer``. Raises InputError for too few tokens."""

    def __init__(self, tokens: Int[Tensor, " N"], length: int, what: str):
        if len(tokens) < length:
            raise InputError(f"texts: have {len(tokens)} tokens for {what}; must have at least {length}")
        self.rows = tokens[: len(tokens) // length * length].view(-1, length)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"input_ids": self.rows[index], "labels": self.rows[index]}
