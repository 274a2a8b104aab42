"""Evaluation of a model on texts: missing parts are computed, and recorded one by one. Needs the extra ``lm``."""

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from synthlab.errors import InputError
from synthlab.huggingface.cache import Cache
from synthlab.huggingface.perplexity.documents import tokenize_documents
from synthlab.huggingface.perplexity.measurements import list_measurements
from synthlab.huggingface.perplexity.models import Opened, fingerprint_model, place_bos
from synthlab.huggingface.perplexity.progress import Clock, describe_cost
from synthlab.huggingface.perplexity.scoring import CausalScorer, Part
from synthlab.huggingface.perplexity.settings import Settings
from synthlab.huggingface.perplexity.tables import Tables, tables
from synthlab.output import tell
from synthlab.storage.files import Folder, reason_of


class EvaluationResult(NamedTuple):
    """The result of an evaluation.

    Attributes:
        tables: Its tables.
        identity: A checksum of the model, the texts and the settings that decide its numbers.
        found: The number of documents.
        kept: The number of those that are as long as the longest length, which were measured.
        bos: The placement of the beginning-of-text token.
    """

    tables: Tables
    identity: str
    found: int
    kept: int
    bos: str


def evaluate_texts(settings: Settings, opened: Opened) -> EvaluationResult:
    """Measure a model on the texts of the settings.

    The cost is printed before it begins. Each part (a document, a length and a measure) is saved below the folder of
    results as soon as it is finished. Saved parts of the same model, text and settings are not computed again.

    Args:
        settings: The settings of the evaluation.
        opened: The model, from ``open_with_tokenizer``.

    Returns:
        The tables, with a description of what was measured.

    Raises:
        InputError: A text cannot be read, or none is long enough; the model does not know a token; a result is not
            finite; or the folder of results cannot be written.
    """
    bos = place_bos(settings, opened)
    begin = {place: opened.begin if place == bos else None for place in ("document", "window")}
    documents = tokenize_documents(settings, opened.tokenizer, opened.vocabulary, begin["document"])
    model = fingerprint_model(opened.model)
    placed = bos if begin["window"] is None else f"{bos} {begin['window']}"
    asked = [(task.identity(model, placed), task) for task in list_measurements(settings, documents.kept)]
    once, parts = dict(asked), Cache(Folder(settings.folder), Part)  # equal documents share a part
    done = {each: part for each, task in once.items() if (part := parts.read(each)) is not None and task.fits(part)}
    missing = {identity: task for identity, task in once.items() if identity not in done}
    tell(*describe_cost(settings, documents, list(missing.values()), len(once)))
    scorer = CausalScorer(opened.model, settings.batch, begin["window"], f"model={opened.name}")
    with catch_write_errors(settings), Clock(sum(task.cost(settings.batch)[0] for task in missing.values())) as clock:
        parts.make_writable()
        for identity, task in missing.items():
            done[identity] = task.compute(scorer, clock.tick)
            parts.write(identity, done[identity])
    identity = hashlib.sha256("".join(sorted(each for each, _ in asked)).encode()).hexdigest()[:16]
    found = tables([(task, done[each]) for each, task in asked])
    return EvaluationResult(found, identity, documents.found, len(documents.kept), bos)


@contextmanager
def catch_write_errors(settings: Settings) -> Generator[None]:
    """Turn an OSError into one line that names the folder of results."""
    try:
        yield
    except OSError as error:
        raise InputError(f"results={settings.results}: cannot be written ({reason_of(error)}); give a folder") from None
