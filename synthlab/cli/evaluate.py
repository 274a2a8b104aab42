"""``synthlab evaluate``: measure a language model on long texts, by perplexity at each length and by position."""

import re
from typing import Any

from synthlab.cli import hydra_app
from synthlab.errors import InputError, require

INTERRUPTED = "finished parts are kept; the same command goes on from there"


def task(raw: dict[str, Any]) -> bool:
    """Open the model, measure it on the texts, write and print what was found; then run the tasks of the settings."""
    require("lm", "transformers", what="synthlab evaluate")
    with hydra_app.quick_imports():
        from synthlab.perplexity.settings import Settings

    settings = Settings.checked(raw)
    if settings.tasks:
        require("evaluate", "lm_eval", what=f"tasks={settings.tasks}")
    with hydra_app.quick_imports():
        from synthlab.output import say
        from synthlab.perplexity.evaluation import evaluate
        from synthlab.perplexity.opening import open_model
        from synthlab.perplexity.report import write_all
        from synthlab.perplexity.tables import printed

    opened = open_model(settings)
    if settings.texts is not None:
        found = evaluate(settings, opened)
        written = write_all(settings, found)
        say(*printed(found.tables), "", "written:", *(f"  {file}" for file in written))
    if settings.tasks:
        table, written = _run_tasks(settings, opened)
        say(*([""] if settings.texts else []), table, "", "written:", *(f"  {file}" for file in written))
    return True


def _run_tasks(settings: Any, opened: Any) -> tuple[str, list[str]]:
    """Run the benchmark tasks and write their scores; returns their table for people, and the files."""
    from synthlab.benchmarks.harness import evaluate_tasks
    from synthlab.perplexity.opening import identity_of
    from synthlab.perplexity.report import write_tasks

    try:
        scores = evaluate_tasks(
            opened.model,
            opened.tokenizer,
            settings.tasks,
            data=settings.task_data,
            limit=settings.task_limit,
            seed=settings.seed,
            lengths=tuple(settings.lengths),
        )
    except InputError as error:  # the function calls its argument data
        raise InputError(*(re.sub(r"\bdata(?=[:=])", "task_data", line) for line in error.lines)) from None
    return scores.to_string(index=False), write_tasks(settings, identity_of(opened.model), scores)


def main() -> None:
    no_sweeps = "an evaluation measures all lengths at once; call it for each model"
    hydra_app.main(task, "evaluate", no_sweeps, interrupted=INTERRUPTED, folder="evaluate")


if __name__ == "__main__":
    main()
