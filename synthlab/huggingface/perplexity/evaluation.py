"""Evaluation of a model on texts: missing parts are computed, and recorded one by one."""

import hashlib
import io
import json
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from tqdm import tqdm

from synthlab.errors import InputError
from synthlab.huggingface.cache import Cache
from synthlab.huggingface.perplexity.models import Opened
from synthlab.huggingface.perplexity.scoring import CausalScorer, Document, Measurement, Part
from synthlab.huggingface.perplexity.settings import Settings
from synthlab.huggingface.perplexity.tables import Tables, make_tables
from synthlab.huggingface.perplexity.windows import rules
from synthlab.huggingface.texts import read_texts
from synthlab.output import print_err
from synthlab.storage.files import Folder, reason_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 24  # number of points of a curve of losses by position, equally spaced on its logarithmic axis
OF_TASKS = {"tasks", "task_data", "task_limit"}
NO_MOMENT = {"pdf": {"CreationDate": None, "Producer": None, "Creator": None}, "png": {"Software": None}}


def evaluate_texts(settings: Settings, opened: Opened) -> tuple[Tables, list[str]]:
    """Measure a model on the texts of the settings, and write tables, a figure and the settings.

    The cost is printed before it begins. Each part (a document, a length and a measure) is saved below the folder of
    results as soon as it is finished. Saved parts of the same model, text and settings are not computed again.

    Returns:
        The tables, and the written files.

    Raises:
        InputError: A text cannot be read, or none is long enough; the model does not know a token; a result is not
            finite; or the folder of results cannot be written.
    """
    documents, number = tokenize_documents(settings, opened)
    begin = opened.begin if opened.bos == "window" else None
    model = (opened.fingerprint, f"{opened.bos} {begin}")
    asked = [(task.identity(*model), task) for task in _list_measurements(settings, documents)]
    cache = Cache(Folder(settings.folder), Part)
    once = dict(asked)  # equal documents share a part
    done = {identity: part for identity in once if (part := cache.read(identity)) is not None}
    missing = {identity: task for identity, task in once.items() if identity not in done}
    cost = sum(task.cost() for task in missing.values())
    short = number - len(documents)
    lack = f"; {short} have fewer than {max(settings.lengths):,} tokens" if short else ""
    recorded = f"; {len(done)} of {len(once)} parts are recorded" if done else ""
    print_err(f"documents: {len(documents)} of {number}{lack}", f"cost: {cost:,} tokens{recorded}")
    scorer = CausalScorer(opened.model, settings.batch, begin, f"model={settings.model}")
    seconds = 0.1 if sys.stderr is not None and sys.stderr.isatty() else 30  # between two lines of progress
    shown = {"unit": "token", "unit_scale": True, "mininterval": seconds, "leave": False, "disable": not cost}
    with catch_write_errors(settings), tqdm(total=cost, **shown) as bar:
        for identity, task in missing.items():
            done[identity] = task.compute(scorer)
            cache.write(identity, done[identity])
            bar.update(task.cost())
    tables = make_tables([(task, done[identity]) for identity, task in asked])
    about = settings.model_dump(exclude={"device", "batch"} | OF_TASKS)
    about |= {"bos": opened.bos, "documents_found": number, "documents_kept": len(documents)}
    folder = hashlib.sha256("".join(sorted(identity for identity, _ in asked)).encode()).hexdigest()[:16]
    return tables, write_files(settings, folder, _draw_files(settings, tables), about)


def tokenize_documents(settings: Settings, opened: Opened) -> tuple[list[Document], int]:
    """Return the documents that are as long as the longest length, as tokens, and the number of all.

    Raises InputError if a text cannot be read, the model does not know a token, or no document is long enough.
    """
    longest, most, found = max(settings.lengths), 0, 0
    before = [opened.begin] if opened.bos == "document" else []
    kept: list[Document] = []
    for name, text in islice(read_texts(settings.texts or "", settings.key), settings.documents):
        found += 1
        numbers = opened.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        if numbers and max(numbers) >= opened.vocabulary:
            raise InputError(
                f"tokenizer={settings.tokenizer or settings.model}: has token {max(numbers)}; the model knows 0 to "
                f"{opened.vocabulary - 1}"
            )
        tokens = torch.tensor([*before, *numbers], dtype=torch.long)
        most = max(most, len(tokens))
        if len(tokens) >= longest:
            kept.append(Document(name, tokens[: settings.tokens], len(text.encode()) / len(numbers)))
    if not kept:
        what = f"the longest of {found} documents has {most} tokens"
        raise InputError(f"texts={settings.texts}: {what}; lengths={settings.lengths} need {longest} or more")
    return kept, found


def _list_measurements(settings: Settings, documents: list[Document]) -> list[Measurement]:
    """Return all measurements, the longest windows first, so that exceeding the memory ends the command early."""
    listed: list[Measurement] = []
    for length in sorted(set(settings.lengths), reverse=True):
        named = rules(length, max(settings.lengths), settings.stride or length // 2)
        for document in documents:
            for measure in dict.fromkeys(settings.measures):
                rule = named["disjoint"] if measure == "misalignment" else named[measure]
                listed += [Measurement(document, measure, rule, settings.seed)]
    return listed


@contextmanager
def catch_write_errors(settings: Settings) -> Generator[None]:
    """Turn an OSError into one line that names the folder of results."""
    try:
        yield
    except OSError as error:
        raise InputError(f"results={settings.results}: cannot be written ({reason_of(error)}); give a folder") from None


def write_files(settings: Settings, folder: str, files: Mapping[str, bytes], about: Mapping[str, Any]) -> list[str]:
    """Write files below the folder of results, and ``about`` with the versions of packages; return the paths.

    Raises InputError if they cannot be written.
    """
    packages = ("torch", "transformers", *(["lm_eval"] if "tasks" in about else []))
    text = json.dumps({**about, **{name: version(name) for name in packages}}, indent=2) + "\n"
    place, written = Folder(settings.folder), []
    with catch_write_errors(settings):
        for name, data in {**files, "evaluation.json": text.encode()}.items():
            place.write(f"{folder}/{name}", data)
            written.append(place.path(f"{folder}/{name}"))
    return written


def _draw_files(settings: Settings, tables: Tables) -> dict[str, bytes]:
    filled = {name: table for name, table in tables._asdict().items() if len(table)}
    files = {f"{name}.csv": table.to_csv(index=False).encode() for name, table in filled.items()}
    if len(tables.perplexity):
        figure = draw_figure(tables, settings.model)
        for kind, about in NO_MOMENT.items():
            drawn = io.BytesIO()
            figure.savefig(drawn, format=kind, metadata=about, dpi=160)
            files[f"perplexity.{kind}"] = drawn.getvalue()
    return files


def draw_figure(tables: Tables, title: str) -> "Figure":
    """Return the figure: perplexity by length under each measure and, if measured, loss by context at each length."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.8 if len(tables.positions) else 4.4, 3.5), layout="constrained")
    panels = figure.subplots(1, 2 if len(tables.positions) else 1, squeeze=False)[0]
    for (measure, rows), marker in zip(tables.perplexity.groupby("measure", sort=False), "os^D", strict=False):
        bars = rows["perplexity_error"].fillna(0)
        panels[0].errorbar(rows["length"], rows["perplexity"], bars, capsize=2, marker=marker, label=measure)
    panels[0].set(xscale="log", xlabel="length $L$, tokens", ylabel="perplexity")
    if len(tables.positions):
        for length, rows in tables.positions.groupby("length"):
            edges = np.unique(np.geomspace(1, rows["context"].max() + 1, BINS + 1).round())
            bins = np.searchsorted(edges, rows["context"], side="right")
            means = rows.groupby(bins)[["context", "loss"]].mean()
            panels[1].plot(means["context"], means["loss"], marker=".", label=f"$L$ = {length:,}")
        panels[1].set(xscale="log", xlabel="context, tokens (means over neighbours)", ylabel="loss, nats a token")
    for axes in panels:
        axes.legend(fontsize="small")
    figure.suptitle(f"{title} (bars: one standard error over documents)", fontsize="medium")
    return figure
