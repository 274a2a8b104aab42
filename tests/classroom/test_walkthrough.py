import shlex
from functools import cache

import pytest

from classroom.lessons import story
from classroom.lessons.lesson import Lessons
from classroom.lessons.story import plan_lessons, train_and_view
from support.pages import Page
from synthlab.runs.composition import compose
from synthlab.runs.run import resolve
from theory.closed_forms.least import least_error


@cache
def lessons() -> Lessons:
    """The lab's lessons."""
    return Lessons.read(None)


@pytest.mark.slow
def test_the_page_has_every_lesson(invoke, tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr(story, "fit", lambda configs, fit=story.fit: trained.extend(configs) or fit(configs))
    outcome = invoke("walkthrough", "steps=20", "workers=1", f"results={tmp_path}")
    assert (outcome.status, outcome.out) == (0, f"written:\n  {tmp_path}/walkthrough.html\n")
    page, told = Page((tmp_path / "walkthrough.html").read_text()), lessons()
    assert not page.open
    for lesson in told.lessons.values():
        for text in (lesson.title, lesson.watch, lesson.seen):
            assert " ".join(text.split()) in page.words
    assert len(page.images) == 2 * len(told.lessons)
    assert all(address.startswith("data:image/svg+xml;base64,") for address in page.addresses)

    plan = plan_lessons(told, steps=20)
    for code, runs in zip(page.code, plan.values(), strict=False):
        commands = [shlex.split(line) for line in code.splitlines()]
        assert {words[0] for words in commands} == {"synthlab"}
        assert [resolve(compose(words[1:])) for words in commands] == [run.config for run in runs]
    ids = [config.id for config in trained]
    assert len(ids) == len(set(ids))  # what several lessons show is trained once
    assert set(ids) == {run.config.id for runs in plan.values() for run in runs}


def test_least_error_of_the_theory_by_hand():
    # Of dimension 1 nothing beats the constant (n + 1) / 2 on the length: 1.5 for lengths 1 and 2.
    settings = ["task=length", "model=linear", "model.head_dim=1", "train_length=2", "test_length=4"]
    least, reason = least_error(resolve(compose(settings)))
    assert (least, reason) == ([0.25, 0.25, 2.25, 6.25], "")


def test_where_theory_has_no_error_it_gives_a_reason():
    least, reason = least_error(resolve(compose(["inputs.p=0.3"])))
    assert least == []
    assert reason.startswith("theory: known for inputs=bernoulli with p=0.5 only")


@pytest.mark.slow
def test_the_map_mends_as_much_as_the_lesson_says():
    runs = plan_lessons(lessons())["mended"]
    found = train_and_view([run.config for run in runs], workers=1)
    plain, mapped = (found[run.config.id].view.error[-1] for run in runs)
    assert plain > 30 * mapped
    assert (round(plain**0.5), round(mapped**0.5)) == (37, 6)
