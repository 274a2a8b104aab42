"""A story of somebody else's is data: it teaches, and runs no code."""

import pytest

LESSON = "every: EVERY\nlessons: {a: {button: a, title: b, watch: c, seen: d, runs: [RUN]}}\n"


def lesson(every="{}", run="{task: mean}"):
    return LESSON.replace("EVERY", every).replace("RUN", run)


@pytest.mark.parametrize(
    ("story", "line"),
    [
        (f"{lesson()}\nhydra: {{callbacks: {{x: {{_target_: mine.run}}}}}}\n", "hydra={'callbacks': "),
        (lesson(run="{task: '${oc.env:HOME}'}"), "lessons.a.runs: task=${oc.env:HOME}: names a class"),
        (lesson(every="{outrep: 'mine:Map'}"), "every: outrep=mine:Map: names a class"),
        (lesson(every="{hydra.verbose: true}"), "every: hydra.verbose: is no setting of a run"),
        ("lessons: !!python/object/apply:os.abort []\n", "cannot be read (ConstructorError: "),
        ("- a\n", "story=['a']: must be a mapping with the keys every, lessons"),
    ],
)
def test_a_story_runs_no_code(invoke, tmp_path, monkeypatch, story, line):
    (tmp_path / "mine.yaml").write_text(story)
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'written')!r}, 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    outcome = invoke("classroom", f"story={tmp_path}/mine.yaml")
    assert outcome.status == 2
    assert line in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "written").exists()
