"""A story of somebody else's is data: it teaches, and runs no code."""

import pickle

import pytest

from synthlab.config.composition import conf_dir

LESSONS = (conf_dir() / "story" / "lengths.yaml").read_text()
CALLBACK = "{_target_: pandas.read_pickle, filepath_or_buffer: FOLDER/code.pkl}"
LESSON = "# @package _global_\nevery: EVERY\nlessons: {a: {button: a, title: b, watch: c, seen: d, runs: [RUN]}}\n"


class WritesAFile:
    """Code, as a pickle has it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def lesson(every="{}", run="{task: mean}"):
    return LESSON.replace("EVERY", every).replace("RUN", run)


@pytest.mark.parametrize(
    ("story", "line"),
    [
        (f"{LESSONS}\nhydra: {{callbacks: {{x: {CALLBACK}}}}}\n", "mine.yaml has hydra; it is data"),
        (f"# @package hydra.callbacks\nlessons: {CALLBACK}\n", "mine.yaml has a package other than _global_"),
        (f"{LESSONS}\ndefaults: [/other@_global_, _self_]\n", "mine.yaml has defaults"),
        (lesson(run="{task: '${oc.env:HOME}'}"), "mine.yaml has references ${...}"),
        (lesson(run="{task: mean, outrep: 'mine:Map'}"), "error: lessons.a.runs: outrep=mine:Map: names a class"),
        (lesson(every="{hydra.verbose: true}"), "error: every: hydra.verbose: is no setting of a run"),
    ],
)
def test_a_story_runs_no_code(invoke, tmp_path, monkeypatch, story, line):
    (tmp_path / "story").mkdir()
    (tmp_path / "code.pkl").write_bytes(pickle.dumps(WritesAFile(str(tmp_path / "written"))))
    (tmp_path / "other.yaml").write_text(f"hydra: {{callbacks: {{x: {CALLBACK}}}}}".replace("FOLDER", str(tmp_path)))
    (tmp_path / "story" / "mine.yaml").write_text(story.replace("FOLDER", str(tmp_path)))
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'written')!r}, 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    outcome = invoke("classroom", "--config-dir", str(tmp_path), "story=mine")
    assert (outcome.status, outcome.err.count("\n")) == (2, 1)
    assert line in outcome.err
    assert not (tmp_path / "written").exists()
