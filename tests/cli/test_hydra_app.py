"""The command lines as a user meets them: what they print, what they refuse, and with which status."""

import re
from pathlib import Path

import pytest

from support.configs import EXPLOSIVE, config
from synthlab.errors import InputError
from synthlab.runs.composition import compose
from synthlab.runs.run import resolve
from synthlab.storage.store import Store

REFUSED_BY_THE_COMMAND = {
    "a misspelt key": (["model.widht=64"], "model.widht=64: unknown key, did you mean width.; choose from attention"),
    "an override that is none": (["task=["], r"task=\[: cannot be read; write key=value"),
    "several values without -m": (["task=mean,sum"], "task=mean,sum: more than one value; add -m to sweep"),
    "a value that must be given": (["seed=???"], "seed: missing; must be given"),
    "a reference to nowhere": (["seed=${nope}"], r"seed=\$\{nope\}: Interpolation key 'nope' not found"),
    "no folder for results": (["results="], "results=: must be the path of a folder"),
    "an unknown way to try again": (["retry=always"], "retry=always: unknown; choose from none, failed"),
    "a launcher of a single run": (["hydra/launcher=joblib"], "hydra/launcher=joblib: applies only to sweeps"),
    "a file that Hydra would unpickle": (["--experimental-rerun", "a.pickle"], "--experimental-rerun: a command has"),
    "another sweeper": (["-m", "hydra/sweeper=basic"], "hydra/sweeper: the lab has a sweeper of its own; leave"),
    "a folder that is not there": (["--config-dir", "/nowhere"], "--config-dir /nowhere: there is no such folder"),
}
REFUSED_AS_A_RUN = {
    "an unknown task": (["task=maen"], "task=maen: unknown, did you mean mean.; choose from aa_star"),
    "tests beyond the learned table": (
        ["encoding=learned", "encoding.table=40", "test_length=50"],
        "test_length=50: encoding=learned has 40 positions, .* lengths up to 38",
    ),
    "a map whose domain the task leaves": (
        ["task=sum", "outrep=rsqrt", "outrep.shift=0"],
        r"outrep.shift=0: takes the targets of task=sum to \[0, 12\], which leaves the domain \(0, inf\)",
    ),
    "an encoding for the theory's model": (["model=linear", "encoding=rope"], "model=linear: .* choose encoding=nope"),
}


@pytest.mark.parametrize("case", REFUSED_BY_THE_COMMAND)
def test_bad_input_is_refused_in_one_line_with_status_2_before_training(invoke, quick, tmp_path, case):
    arguments, message = REFUSED_BY_THE_COMMAND[case]
    outcome = invoke("synthlab", *quick, *arguments)
    lines = outcome.err.strip().splitlines()
    assert outcome.status == 2
    assert len(lines) == 1, outcome.err
    assert re.match(f"error: .*{message}", lines[0]), lines[0]
    assert outcome.out == ""
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("case", REFUSED_AS_A_RUN)
def test_what_can_be_no_run_is_refused_in_one_line(case):
    arguments, message = REFUSED_AS_A_RUN[case]
    with pytest.raises(InputError, match=message) as refused:
        config(*arguments)
    assert len(refused.value.lines) == 1


def test_all_problems_are_reported_at_once(invoke, quick):
    outcome = invoke("synthlab", *quick, "encoding=learned", "+encoding.tabel=4", "encoding.scale=-1", "model.depth=0")
    assert outcome.status == 2
    assert [line.split(":")[1].split("=")[0].strip() for line in outcome.err.splitlines()] == [
        "encoding.scale",
        "encoding.tabel",
        "model.depth",
    ]


def test_a_run_prints_a_short_table_and_where_its_record_lies(invoke, quick, tmp_path):
    outcome = invoke("synthlab", *quick, "task=length", "encoding=rope", "outrep=rsqrt", "seed=3")
    assert outcome.status == 0
    assert outcome.err == ""
    lines = outcome.out.splitlines()
    assert lines[0].startswith("1 run: task=length inputs=bernoulli encoding=rope outrep=rsqrt")
    assert [line.split()[0] for line in lines[2:-4]] == ["1", "5", "10"]
    identity, _, path = lines[-2].removeprefix("record: ").partition(" in ")
    assert Store(tmp_path).ids() == [identity]
    assert Path(path).exists()
    again = invoke("synthlab", *quick, "task=length", "encoding=rope", "outrep=rsqrt", "seed=3")
    assert again.out == outcome.out
    assert re.fullmatch(r"nothing was trained: the run is recorded \(2\d{3}-\d\d-\d\d, torch \S+, cpu\)\n", again.err)


NAMELESS = "{group}={{.*}}: must be a mapping with a name; choose from .*"


@pytest.mark.parametrize(
    ("group", "text", "message"),
    [
        ("encoding", "name: [unclosed\n", ".+"),
        ("task", "strength: 2.0\n", "{group}=mine: its file names no family; begin it with defaults: .*"),
        ("task", "defaults: [_self_, /family@_global_: numbers]\nstrength: 2.0\n", NAMELESS),
        ("tracker", "only text\n", NAMELESS),
    ],
)
def test_a_broken_file_of_the_users_own_is_refused_in_one_line(invoke, quick, tmp_path, group, text, message):
    (tmp_path / "own" / group).mkdir(parents=True)
    (tmp_path / "own" / group / "mine.yaml").write_text(text)
    outcome = invoke("synthlab", "--config-dir", str(tmp_path / "own"), *quick, f"{group}=mine")
    assert outcome.status == 2
    assert re.fullmatch(f"error: {message.format(group=group)}\n", outcome.err)


def test_a_diverged_run_has_status_1_and_names_the_step(invoke, quick):
    outcome = invoke("synthlab", *quick, *EXPLOSIVE)
    assert outcome.status == 1
    line = r"seed 0 diverged: the loss was not finite at step \d+; a lower protocol.lr \(now 1e\+30\) may help"
    assert re.search(line, outcome.out)


@pytest.mark.parametrize("words", [["run", "task=copy", "--help"], ["--help", "task=copy"]])
def test_help_shows_what_applies_to_a_task_and_nothing_else(invoke, words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    outcome = invoke("synthlab", *words)
    assert (outcome.status, outcome.err) == (0, "")
    for text in (
        "task=copy: the prompt again, with symbols that repeat\n",
        "Score: exact match at every length.\n",
        "  task.symbols=2                number of different symbols\n",
        "  seed=0                        master seed; null seeds below equal it",
        "synthlab task=copy encoding=alibi",
    ):
        assert text in outcome.out
    for text in ("outrep", "extension=", "family", "study"):
        assert text not in outcome.out


@pytest.mark.parametrize("task", ["mean", "copy", "text"])
def test_help_explains_every_key_and_its_example_can_be_run(invoke, task, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    out = invoke("synthlab", f"task={task}", "--help").out
    keys = out.partition("Keys, with")[2].partition("Examples")[0].partition(f"task={task}\n")[2]
    assert re.findall(r"^  [\w.]+=\S*\n(?! {32})", keys, re.MULTILINE) == []
    resolve(compose(out.partition("Examples\n")[2].splitlines()[0].split()[1:]))  # the example can be run
