"""``synthlab walkthrough``: write the lessons of a story as one page for reading and printing."""

import shlex
import sys
from functools import partial
from typing import Any

from pydantic import BaseModel, PositiveInt

from synthlab.cli import hydra_app as cli
from synthlab.errors import InputError, require
from synthlab.output import say, tell
from synthlab.runs.registry import STRICT, validate


class Settings(BaseModel):
    """The settings of the walkthrough; ``conf/walkthrough.yaml`` describes each."""

    model_config = STRICT
    story: str | None
    results: str
    workers: PositiveInt | None
    steps: PositiveInt | None


def task(raw: dict[str, Any], command: str) -> bool:
    """Train the lessons' runs, write the page and print its path. ``command`` is the command line."""
    require("theory", "sympy", what="synthlab walkthrough")
    from classroom.lessons.lesson import Lessons
    from classroom.lessons.story import plan_lessons, train_and_view, write_page
    from synthlab.storage.store import Store
    from synthlab.sweeps.sweep import count_workers

    settings = validate(Settings, raw, "")
    lessons = Lessons.read(settings.story)
    workers = count_workers(settings.workers)
    store = Store(settings.results)
    page = store.root / "walkthrough.html"
    plan = plan_lessons(lessons, settings.steps)
    store.make_writable(".")
    runs = {run.config.id: run.config for part in plan.values() for run in part}
    tell(f"training {len(runs)} runs, {min(workers, len(runs))} at a time")
    found = train_and_view(list(runs.values()), workers)
    try:
        write_page(page, lessons, plan, found, settings.steps, command)
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be written ({error.strerror})") from None
    say("written:", f"  {page}")
    return True


def main() -> None:
    """Run ``synthlab walkthrough``."""
    command = shlex.join(["synthlab", "walkthrough", *sys.argv[1:]])
    no_sweeps = "the walkthrough is one page; it is not swept"
    cli.main(partial(task, command=command), "walkthrough", no_sweeps, interrupted="no page was written")


if __name__ == "__main__":
    main()
