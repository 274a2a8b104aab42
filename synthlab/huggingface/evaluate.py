"""``synthlab evaluate``: measure a language model on long texts, by perplexity at each length and by position."""

import hashlib
import json
from typing import Any

from synthlab.cli import hydra_app
from synthlab.errors import require


def task(raw: dict[str, Any]) -> bool:
    """Open the model, measure it on the texts, write and print the results; then run the tasks of the settings."""
    require("lm", "transformers", what="synthlab evaluate")
    with hydra_app.pause_garbage_collection():
        from synthlab.huggingface.perplexity.settings import Settings

    settings = Settings.from_raw(raw)
    if settings.tasks:
        require("evaluate", "lm_eval", what=f"tasks={settings.tasks}")
    with hydra_app.pause_garbage_collection():
        from synthlab.huggingface.perplexity.evaluation import evaluate_texts
        from synthlab.huggingface.perplexity.models import open_with_tokenizer
        from synthlab.huggingface.perplexity.tables import format_tables
        from synthlab.output import say

    opened = open_with_tokenizer(settings)
    tasks: list[Any] = []
    if settings.tasks:  # first, so that missing data is found before anything is computed
        from synthlab.huggingface.benchmarks.harness import open_tasks

        tasks = open_tasks(settings.tasks, opened.tokenizer, settings.task_data, settings.lengths, settings.seed)
    if settings.texts is not None:
        found, written = evaluate_texts(settings, opened)
        say(format_tables(found), "", "written:", *(f"  {file}" for file in written))
    if tasks:
        table, written = _score(settings, opened, tasks)
        say(table.to_string(index=False), "", "written:", *(f"  {file}" for file in written))
    return True


def _score(settings: Any, opened: Any, tasks: list[Any]) -> tuple[Any, list[str]]:
    """Return the table of opened tasks, and the files that it was written to."""
    from synthlab.huggingface.benchmarks.harness import Scores, score_tasks
    from synthlab.huggingface.benchmarks.model import HarnessModel
    from synthlab.huggingface.cache import Cache
    from synthlab.huggingface.perplexity.evaluation import OF_TASKS, catch_write_errors, write_files
    from synthlab.storage.files import Folder

    cache = Cache(Folder(settings.folder), Scores)
    model = f"{opened.fingerprint} {opened.tokenizer_fingerprint}"
    lm = HarnessModel(opened.model, opened.tokenizer)
    with catch_write_errors(settings):
        table = score_tasks(lm, tasks, settings.task_limit, settings.seed, cache, model)
    about = settings.model_dump(include={"model", "tokenizer", "dtype", "lengths", "seed"} | OF_TASKS)
    folder = f"tasks-{hashlib.sha256(json.dumps([model, about]).encode()).hexdigest()[:16]}"
    return table, write_files(settings, folder, {"tasks.csv": table.to_csv(index=False).encode()}, about)


def main() -> None:
    """Run ``synthlab evaluate``."""
    no_sweeps = "an evaluation measures all lengths at once; call it for each model"
    kept = "finished parts are kept; the same command goes on from there"
    hydra_app.main(task, "evaluate", no_sweeps, interrupted=kept, folder="evaluate")


if __name__ == "__main__":
    main()
