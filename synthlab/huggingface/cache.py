"""Results on disk, so that an interrupted call continues where it stopped."""

import json
import secrets
from typing import Generic, TypeVar

from pydantic import BaseModel

from synthlab.storage.files_base import Files

Result = TypeVar("Result", bound=BaseModel)


class Cache(Generic[Result]):
    """Results of one ``kind`` below ``parts`` of a folder, a file each, written whole or not at all."""

    def __init__(self, files: Files, kind: type[Result]):
        self.files, self.kind = files, kind

    def read(self, identity: str) -> Result | None:
        """Return a result; None for one that is not recorded, or damaged."""
        try:
            return self.kind.model_validate_json(self.files.read(_path(identity)))
        except (OSError, ValueError):  # of which ValidationError is one
            return None

    def write(self, identity: str, result: Result) -> None:
        """Record a result; raises OSError."""
        self.files.write(_path(identity), json.dumps(result.model_dump()).encode())

    def make_writable(self) -> None:
        """Try to write; raises OSError."""
        probe = f"parts/.probe-{secrets.token_hex(4)}"
        self.files.write(probe, b"")
        self.files.remove(probe)


def _path(identity: str) -> str:
    return f"parts/{identity[:2]}/{identity}.json"
