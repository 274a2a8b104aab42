"""Recorded scores of tasks, with which an interrupted call continues."""

import hashlib
import json
from importlib.metadata import version
from itertools import islice
from typing import Any

from pydantic import BaseModel, ConfigDict

from synthlab.config.registry import STRICT
from synthlab.huggingface.benchmarks.scores import COLUMNS
from synthlab.huggingface.cache import Cache
from synthlab.storage.files import Folder

VERSION = 1  # raise this when a task with the same samples and model gets other scores


class Scored(BaseModel):
    """A task's rows, and the numbers of texts, and of texts that lost their beginning."""

    model_config = STRICT | ConfigDict(allow_inf_nan=True)  # one sample has no standard error, NaN
    rows: list[dict[str, str | float | int]]
    requests: int
    cut: int


class ScoreCache(Cache[Scored]):
    """Scores of tasks.

    Args:
        files: The folder.
        model: A checksum of everything that decides the model's output, its tokenizer included.
    """

    def __init__(self, files: Folder, model: str):
        super().__init__(files, Scored)
        self.model = model

    def identity(self, label: str, task: Any, limit: int | None, *setting: object) -> str:
        """Return a checksum of everything that decides a task's scores.

        That is its ``label``, its samples, the model, the harness's version, and ``setting``.
        """
        docs = hashlib.sha256()
        for doc in islice(task.eval_docs, limit):
            docs.update(json.dumps(doc, sort_keys=True, default=str).encode())
        told = [VERSION, version("lm_eval"), self.model, label, docs.hexdigest(), limit, *setting]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]

    def read(self, identity: str) -> Scored | None:
        """Return the scores of a task; None if they are not recorded, or damaged."""
        found = super().read(identity)
        return found if found and all([*row] == COLUMNS for row in found.rows) else None
