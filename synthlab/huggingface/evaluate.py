"""``synthlab evaluate``: measure a language model on long texts, by perplexity at each length and by position."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from synthlab.cli import hydra_app
from synthlab.errors import require

INTERRUPTED = "finished parts are kept; the same command goes on from there"


def task(raw: dict[str, Any]) -> bool:
    """Open the model, measure it on the texts, write and print the results; then run the tasks of the settings."""
    require("lm", "transformers", what="synthlab evaluate")
    from synthlab.huggingface.perplexity.settings import Settings

    settings = Settings.from_raw(raw)
    if settings.tasks:
        require("evaluate", "lm_eval", what=f"tasks={settings.tasks}")
    from synthlab.huggingface.perplexity.evaluation import catch_write_errors, evaluate_texts
    from synthlab.huggingface.perplexity.models import fingerprint_model, open_with_tokenizer
    from synthlab.huggingface.perplexity.report import write_evaluation, write_tasks
    from synthlab.huggingface.perplexity.tables import format_tables
    from synthlab.output import say

    opened = open_with_tokenizer(settings)
    with _prepare_tasks(settings, opened) as scores:
        if settings.texts is not None:
            found = evaluate_texts(settings, opened)
            written = write_evaluation(settings, found)
            say(*format_tables(found.tables), "", "written:", *(f"  {file}" for file in written))
        if scores is not None:
            with catch_write_errors(settings):
                table = scores()
            written = write_tasks(settings, fingerprint_model(opened.model), table)
            say(*([""] if settings.texts else []), table.to_string(index=False), "", "written:")
            say(*(f"  {file}" for file in written))
    return True


def _prepare_tasks(settings: Any, opened: Any) -> AbstractContextManager[Any]:
    """Open the tasks of the settings with their data, before texts are measured; None if there are none."""
    if not settings.tasks:
        return nullcontext()
    from synthlab.huggingface.benchmarks.harness import prepared
    from synthlab.huggingface.benchmarks.score_cache import ScoreCache
    from synthlab.huggingface.perplexity.models import fingerprint_model, fingerprint_tokenizer
    from synthlab.storage.files import Folder

    model = f"{fingerprint_model(opened.model)} {fingerprint_tokenizer(opened.tokenizer)}"
    return prepared(
        opened.model,
        opened.tokenizer,
        settings.tasks,
        data=settings.task_data,
        limit=settings.task_limit,
        samples=settings.task_samples,
        seed=settings.seed,
        lengths=tuple(settings.lengths),
        field="task_data",
        cache=ScoreCache(Folder(settings.folder), model),
    )


def main() -> None:
    """Run ``synthlab evaluate``."""
    no_sweeps = "an evaluation measures all lengths at once; call it for each model"
    hydra_app.main(task, "evaluate", no_sweeps, interrupted=INTERRUPTED, folder="evaluate")


if __name__ == "__main__":
    main()
