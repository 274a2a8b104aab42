"""The printed lessons: their runs, and the results in pictures and numbers."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import pandas as pd

from classroom.charts.viewer import Viewer
from classroom.charts.wording import MODELS, display_name, format_digits
from classroom.lessons.figures import Look, error_figure, name_map, outputs_figure
from classroom.lessons.lesson import Lesson, Lessons
from synthlab.analysis.series import Settings, style_series
from synthlab.analysis.tables import describe_series, label_series
from synthlab.errors import InputError, RunsFailed
from synthlab.numbers.run import NumbersRun
from synthlab.runs.composition import Composer, to_overrides
from synthlab.runs.run import Run, resolve
from synthlab.storage.files import write_whole
from synthlab.storage.records import flatten
from synthlab.studies.pages import template
from synthlab.sweeps.workers import map_ensembles
from synthlab.training.devices import use_one_thread
from synthlab.training.ensembles import seconds
from synthlab.training.execution import fit
from theory.closed_forms.least import least_error


class LessonRun(NamedTuple):
    """A run of a lesson.

    ``series`` is its label in figures, unique within the lesson, ``name`` the same in words; ``command`` trains it.
    ``settings`` are those in which it differs from the others.
    """

    series: str
    name: str
    command: str
    config: NumbersRun
    settings: Settings


class Told(NamedTuple):
    """The content of a lesson on the page. ``error`` and ``outputs`` are pictures, as data URLs."""

    lesson: Lesson
    runs: Sequence[LessonRun]
    error: str
    outputs: str
    shown: Sequence[str]  # names of the runs in the picture of the outputs
    mapped: bool  # True if any of its runs has a map
    least: bool  # True if there is a curve of the theory
    rings: bool  # True if the runs differ in training length, so that rings mark their ends
    missing: str  # why the curve of the theory is missing, if the lesson asks for it
    numbers: str
    spread: str


def plan_lessons(lessons: Lessons, steps: int | None = None) -> dict[str, list[LessonRun]]:
    """Return the runs of each lesson, by its name; ``steps`` replaces those of the lessons. Raises InputError."""
    base = Composer()
    return {name: _runs(base, name, lessons.settings(lesson), steps) for name, lesson in lessons.lessons.items()}


def _runs(base: Composer, lesson: str, runs: list[dict[str, Any]], steps: int | None) -> list[LessonRun]:
    replaced = {} if steps is None else {"protocol.steps": steps}
    commands, configs = [], []
    for settings in runs:
        try:
            overrides = list(to_overrides(settings | replaced))
            configs.append(resolve(base.compose(settings | replaced)))
        except InputError as error:
            raise InputError(*(f"lessons.{lesson}.runs: {line}" for line in error.lines)) from None
        commands.append(shlex.join(["synthlab", *overrides]))
    table = pd.DataFrame([{"family": config.family} | flatten(config.model_dump()) for config in configs])
    series = describe_series(table)
    return [
        LessonRun(key, _name(key, config), command, config, series[key])
        for key, command, config in zip(label_series(table), commands, configs, strict=True)
    ]


def _name(series: str, config: NumbersRun) -> str:
    """Return the name in words of a series of ``tables.label_series``."""
    if series == config.task["name"]:  # the lesson's only run
        model = str(config.model["name"])
        return MODELS.get(model, model)
    if series == f"train_length={config.train_length}":
        return f"trained up to {config.train_length}"
    return name_map(config) if series == config.outrep["name"] else display_name(series)


def train_and_view(configs: Sequence[NumbersRun], workers: int) -> dict[str, Look]:
    """Train each run and view its model; return the views by run id. Raises RunsFailed if a run diverged."""
    plan: list[list[Run]] = [[config] for config in configs]
    plan.sort(key=seconds, reverse=True)
    found = {look.config.id: look for look in map_ensembles(_look, plan, workers)}
    lost = [
        f"lessons: a run diverged at step {look.diverged_at}: "
        f"{' '.join(to_overrides(flatten(look.config.model_dump())))}"
        for look in found.values()
        if look.diverged_at is not None
    ]
    if lost:
        raise RunsFailed(*lost)
    return found


def _look(configs: list[Run]) -> Look:
    config = cast(NumbersRun, configs[0])  # lessons have no other kind of runs
    with use_one_thread():
        model, (training,) = fit(configs)
        viewer = Viewer(config)
        return Look(config, viewer.view(model), *viewer.find_target_ranges(), training.diverged_at)


def write_page(
    path: Path,
    lessons: Lessons,
    plan: Mapping[str, list[LessonRun]],
    found: Mapping[str, Look],
    steps: int | None,
    command: str,
) -> None:
    """Write the page to ``path``, replacing any file there."""
    limits = error_limits(found.values())
    told = {name: tell_lesson(lesson, plan[name], found, limits) for name, lesson in lessons.lessons.items()}
    page = template("classroom.lessons", "walkthrough.html.j2", markup=True)
    write_whole(path, page.render(told=told, steps=steps, command=command))


def error_limits(looks: Iterable[Look]) -> tuple[float, float]:
    """Return the limits of one logarithmic scale for the errors of all runs, so that lessons are comparable."""
    errors = [error for look in looks for error in look.view.error if error > 0] or [1.0]
    return min(errors) / 2, max(errors) * 2


def tell_lesson(
    lesson: Lesson, runs: Sequence[LessonRun], found: Mapping[str, Look], limits: tuple[float, float]
) -> Told:
    """Return the content of one lesson."""
    seen = {run.series: found[run.config.id] for run in runs}
    names = {run.series: run.name for run in runs}
    styles = style_series({run.series: run.settings for run in runs})
    least, missing = least_error(runs[0].config) if lesson.theory else ([], "")
    # Where runs differ in the map, the outputs of all are shown; elsewhere they look alike, and one is enough.
    maps = {run.config.outrep["name"] for run in runs}
    shown = runs if len(maps) > 1 else runs[-1:]
    return Told(
        lesson=lesson,
        runs=runs,
        error=error_figure(seen, names, styles, least, limits if lesson.scale == "log" else None),
        outputs=outputs_figure({run.series: seen[run.series] for run in shown}, names, styles),
        shown=[run.name for run in shown],
        mapped=maps != {"identity"},
        least=bool(least),
        rings=len({run.config.train_length for run in runs}) > 1,
        missing=missing,
        numbers=describe_errors(runs, seen, least),
        spread="; ".join(list_answers(run, seen[run.series]) for run in shown),
    )


def describe_errors(runs: Sequence[LessonRun], seen: Mapping[str, Look], least: Sequence[float]) -> str:
    """Return the root mean squared error at the longest training length and at the longest test length, in words."""
    parts: list[tuple[str, Sequence[float], NumbersRun]] = [
        (run.name, seen[run.series].view.error, run.config) for run in runs
    ]
    if least:
        parts.append(("the best possible", least, runs[0].config))
    ends = [
        f"{name + ': ' if len(parts) > 1 else ''}{_format_error(error, config.train_length)}, "
        f"{_format_error(error, config.test_length)}"
        for name, error, config in parts
    ]
    return "; ".join(ends)


def _format_error(error: Sequence[float], length: int) -> str:
    return f"{format_digits(error[length - 1] ** 0.5)} at length {length}"


def list_answers(run: LessonRun, look: Look) -> str:
    """Return targets and predictions at the longest length, in words, from least to greatest."""
    dots = look.view.dots[-1]
    truth, answers = (
        [format_digits(value) for value in (min(values), max(values))] for values in (dots.truth, dots.answers)
    )
    asked = truth[0] if truth[0] == truth[1] else f"{truth[0]} to {truth[1]}"
    return f"{run.name}: at length {dots.length} the truth is {asked}, the answers are {answers[0]} to {answers[1]}"
