"""The files of an evaluation: CSVs, a figure, and its settings."""

import hashlib
import io
import json
from collections.abc import Iterable
from importlib.metadata import version

import pandas as pd

from synthlab.huggingface.perplexity.evaluation import EvaluationResult, catch_write_errors
from synthlab.huggingface.perplexity.figure import draw_figure
from synthlab.huggingface.perplexity.settings import Settings
from synthlab.storage.files import Folder

NO_MOMENT = {"pdf": {"CreationDate": None, "Producer": None, "Creator": None}, "png": {"Software": None}}
TASK_KEYS = {"tasks", "task_data", "task_limit", "task_samples"}


def write_evaluation(settings: Settings, found: EvaluationResult) -> list[str]:
    """Write tables, figure and settings below the folder of results; return the files.

    Raises InputError if they cannot be written.
    """
    tables = {f"{name}.csv": table for name, table in found.tables._asdict().items() if len(table)}
    files = {name: table.to_csv(index=False).encode() for name, table in tables.items()}
    if "perplexity.csv" in tables:
        figure = draw_figure(found.tables, settings.model)
        for kind, about in NO_MOMENT.items():
            drawn = io.BytesIO()
            figure.savefig(drawn, format=kind, metadata=about, dpi=160)
            files[f"perplexity.{kind}"] = drawn.getvalue()
    about = settings.model_dump(exclude={"device", "batch"} | TASK_KEYS)
    about |= {"bos": found.bos, "documents_found": found.found, "documents_kept": found.kept}
    about |= {name: version(name) for name in ("torch", "transformers")}
    files["evaluation.json"] = (json.dumps(about, indent=2) + "\n").encode()
    return write(settings, found.identity, files.items())


def write_tasks(settings: Settings, model: str, scores: pd.DataFrame) -> list[str]:
    """Write the scores of tasks, and the settings that decide them; return the files. Raises InputError.

    Only calls with the same model, identified by the checksum ``model``, and the same settings share the folder.
    """
    about = settings.model_dump(include={"model", "tokenizer", "dtype", "lengths", "seed"} | TASK_KEYS)
    told = json.dumps([model, about])
    about |= {name: version(name) for name in ("torch", "transformers", "lm_eval")}
    files = {"tasks.csv": scores.to_csv(index=False), "tasks.json": json.dumps(about, indent=2) + "\n"}
    folder = f"tasks-{hashlib.sha256(told.encode()).hexdigest()[:16]}"
    return write(settings, folder, [(name, text.encode()) for name, text in files.items()])


def write(settings: Settings, folder: str, files: Iterable[tuple[str, bytes]]) -> list[str]:
    """Write files into a folder below that of results; return their paths. Raises InputError."""
    place, written = Folder(settings.folder), []
    with catch_write_errors(settings):
        for name, data in files:
            place.write(f"{folder}/{name}", data)
            written.append(place.path(f"{folder}/{name}"))
    return written
