import shlex
from functools import cache

import numpy as np
import pytest
from omegaconf import OmegaConf

from classroom.charts.views import View
from classroom.lessons import story
from classroom.lessons.figures import Look
from classroom.lessons.lesson import Lessons
from classroom.lessons.story import describe_errors, plan_lessons, train_and_view
from support.pages import Page
from synthlab.config.base import resolve
from synthlab.config.composition import compose, conf_dir
from synthlab.errors import RunsFailed
from theory.closed_forms.least import least_error


def look_at(config, error, dots=(), practised=(1.0, 10.0), mapped=(1.0, 10.0), diverged_at=None) -> Look:
    """A look at a run that was not trained."""
    return Look(config, View(list(error), [], [], list(dots)), practised, mapped, diverged_at)


@cache
def lessons() -> Lessons:
    """The lab's lessons."""
    return Lessons.from_raw(OmegaConf.to_container(OmegaConf.load(conf_dir() / "story" / "lengths.yaml")))


@cache
def lab_runs() -> dict:
    """The runs of the lab's lessons."""
    return plan_lessons(lessons())


@pytest.mark.slow
def test_the_page_tells_every_lesson_and_needs_nothing_beside_it(invoke, tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr(story, "fit", lambda configs, fit=story.fit: trained.extend(configs) or fit(configs))
    outcome = invoke("walkthrough", "steps=20", "workers=1", f"results={tmp_path}")
    assert (outcome.status, outcome.out) == (0, f"written:\n  {tmp_path}/walkthrough.html\n")
    page, told = Page((tmp_path / "walkthrough.html").read_text()), lessons()
    assert not page.open
    for lesson in told.lessons.values():
        for text in (lesson.title, lesson.watch, lesson.seen):
            assert " ".join(text.split()) in page.words
    assert "trained for 20 steps only" in page.words  # since what lessons say need not be seen then

    assert len(page.images) == 2 * len(told.lessons)
    assert all(len(image["alt"]) > 50 for image in page.images)
    assert len({image["alt"] for image in page.images}) == len(page.images)
    assert all(address.startswith("data:image/svg+xml;base64,") for address in page.addresses)

    plan = plan_lessons(told, steps=20)
    for code, runs in zip(page.code, plan.values(), strict=False):
        commands = [shlex.split(line) for line in code.splitlines()]
        assert {words[0] for words in commands} == {"synthlab"}
        assert [resolve(compose(words[1:])) for words in commands] == [run.config for run in runs]
    ids = [config.id for config in trained]
    assert len(ids) == len(set(ids))  # what several lessons show is trained once
    assert set(ids) == {run.config.id for runs in plan.values() for run in runs}


def test_numbers_are_roots_of_the_errors_where_training_and_testing_end():
    plain, mapped = lab_runs()["mended"]
    error = np.zeros(50)
    error[9], error[49] = 0.0004, 1296
    seen = {plain.series: look_at(plain.config, error), mapped.series: look_at(mapped.config, error / 4)}
    assert describe_errors([plain], seen, []) == "0.02 at length 10, 36 at length 50"
    assert describe_errors([plain, mapped], seen, list(4 * error)) == (
        "plain: 0.02 at length 10, 36 at length 50; 1/x: 0.01 at length 10, 18 at length 50; "
        "the best possible: 0.04 at length 10, 72 at length 50"
    )


def test_a_run_that_diverges_is_named(monkeypatch):
    (run,) = lab_runs()["length"]
    monkeypatch.setattr(story, "_look", lambda configs: look_at(configs[0], [], diverged_at=7))
    with pytest.raises(RunsFailed, match="^lessons: a run diverged at step 7: task=length "):
        train_and_view([run.config], workers=1)


def test_the_least_error_of_the_theory_is_that_of_its_best_constant_for_heads_of_dimension_one():
    # Of dimension 1 nothing beats the constant (n + 1) / 2 on the length: 1.5 for lengths 1 and 2.
    settings = ["task=length", "model=linear", "model.head_dim=1", "train_length=2", "test_length=4"]
    least, reason = least_error(resolve(compose(settings)))
    assert (least, reason) == ([0.25, 0.25, 2.25, 6.25], "")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (["inputs.p=0.3"], "theory: known for inputs=bernoulli with p=0.5 only"),
        (["task=length", "outrep=rsqrt", "train_length=31"], "theory: under a map it takes long beyond training"),
    ],
)
def test_where_theory_says_nothing_it_says_why(settings, reason):
    least, why = least_error(resolve(compose(settings)))
    assert least == []
    assert why.startswith(reason)


@pytest.mark.slow
def test_the_map_mends_as_much_as_the_lesson_says():
    found = train_and_view([run.config for run in lab_runs()["mended"]], workers=1)
    plain, mapped = (found[run.config.id].view.error[-1] for run in lab_runs()["mended"])
    assert plain > 30 * mapped
    assert (round(plain**0.5), round(mapped**0.5)) == (37, 6)
