"""Results on disk, with which an interrupted command continues."""

import json
from typing import Generic, TypeVar

from pydantic import BaseModel

from synthlab.storage.files import Folder

Result = TypeVar("Result", bound=BaseModel)


class Cache(Generic[Result]):
    """Results of one ``kind`` below ``parts`` of a folder: a file each, written whole or not at all."""

    def __init__(self, files: Folder, kind: type[Result]):
        self.files, self.kind = files, kind

    def read(self, identity: str) -> Result | None:
        """Return a result; None if it is not recorded, or damaged."""
        try:
            return self.kind.model_validate_json(self.files.read(f"parts/{identity[:2]}/{identity}.json"))
        except (OSError, ValueError):  # ValidationError is a ValueError
            return None

    def write(self, identity: str, result: Result) -> None:
        """Record a result; raises OSError."""
        self.files.write(f"parts/{identity[:2]}/{identity}.json", json.dumps(result.model_dump()).encode())
