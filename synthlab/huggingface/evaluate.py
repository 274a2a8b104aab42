"""``synthlab evaluate``: measure a language model on long texts, by perplexity at each length and by position."""

from typing import Any

from synthlab.cli import hydra_app
from synthlab.errors import require


def task(raw: dict[str, Any]) -> bool:
    """Open the model, measure it on the texts, write and print the results; then run the tasks of the settings."""
    require("lm", "transformers", what="synthlab evaluate")
    from synthlab.huggingface.perplexity.settings import Settings

    settings = Settings.from_raw(raw)
    if settings.tasks:
        require("evaluate", "lm_eval", what=f"tasks={settings.tasks}")
    from synthlab.huggingface.perplexity.evaluation import evaluate_texts
    from synthlab.huggingface.perplexity.models import open_with_tokenizer
    from synthlab.huggingface.perplexity.tables import format_tables
    from synthlab.output import print_out

    opened, score = open_with_tokenizer(settings), None
    if settings.tasks:  # first, so that missing data is found before anything is computed
        from synthlab.huggingface.benchmarks.harness import prepare_tasks

        score = prepare_tasks(settings, opened)
    if settings.texts is not None:
        tables, written = evaluate_texts(settings, opened)
        print_out(format_tables(tables), "", "written:", *(f"  {file}" for file in written))
    if score is not None:
        scores, written = score()
        print_out(scores.to_string(index=False), "", "written:", *(f"  {file}" for file in written))
    return True


def main() -> None:
    """Run ``synthlab evaluate``."""
    no_sweeps = "an evaluation measures all lengths at once; call it for each model"
    kept = "finished parts are kept; the same command goes on from there"
    hydra_app.main(task, "evaluate", no_sweeps, interrupted=kept, folder="evaluate")


if __name__ == "__main__":
    main()
