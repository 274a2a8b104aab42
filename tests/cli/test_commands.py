"""The subcommands of ``synthlab``: which one a command line asks for, what is said of them, and tab completion."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from synthlab.cli.commands import COMMANDS
from synthlab.storage.store import Store

BIN = Path(sys.executable).parent
NAMES = list(COMMANDS)
# No import of these is to slow down --help and completion: one would end the command.
LIGHT = """
import os, sys
sys.modules.update(dict.fromkeys(["torch", "pandas", "sympy", "matplotlib"]))
from hydra.core.global_hydra import GlobalHydra
from synthlab.__main__ import main

for line in os.environ["LINES"].split(","):
    os.environ["COMP_LINE"] = line
    try:
        main()
    except SystemExit as left:
        assert not left.code
    GlobalHydra.instance().clear()
"""


def shell(*command: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess:
    everything = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=everything, cwd=cwd, check=False)


def test_help_lists_every_subcommand_in_one_line_without_heavy_imports():
    done = shell(sys.executable, "-c", LIGHT, "--help", LINES="none")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    for name, command in COMMANDS.items():
        (line,) = (line for line in lines if line.split()[:1] == [name])
        assert line.split(maxsplit=1)[1] == command.summary
        assert len(line) <= 120
        assert len(command.summary.split()) > 3
    assert "synthlab task=copy --help" in done.stdout
    assert "-sc install=bash" in done.stdout


OF_EACH_SORT = ("run", "collect")  # a Hydra application, an argparse
BY_SORT = [name if name in OF_EACH_SORT else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]


@pytest.mark.parametrize("name", BY_SORT)
def test_the_help_of_each_subcommand_shows_how_it_is_called(invoke, name):
    outcome = invoke("synthlab", name, "--help")
    assert (outcome.status, outcome.err) == (0, "")
    assert f"synthlab {name} " in outcome.out
    assert "python -m" not in outcome.out


def test_an_unknown_word_is_refused_in_one_line():
    line = "error: figurs: unknown command, did you mean figures?; choose from "
    line += f"{', '.join(NAMES)}, or give settings as key=value\n"
    done = shell(sys.executable, "-m", "synthlab", "figurs", "seed=1")  # refused before anything heavy is imported
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


@pytest.mark.parametrize("words", [[], *([word, "figures"] for word in ("task=sum", "+a.b=c", "~task", "-m"))])
def test_settings_and_flags_or_nothing_in_the_place_of_a_subcommand_are_those_of_a_run(monkeypatch, words):
    from synthlab.__main__ import main

    given = []
    monkeypatch.setattr("synthlab.cli.run.main", lambda: given.append(sys.argv[1:]))
    monkeypatch.setattr(sys, "argv", ["synthlab", *words])
    main()
    assert given == [words]


def test_run_is_the_default_and_sweep_is_multirun(invoke, quick, tmp_path):
    assert invoke("synthlab", "run", *quick).out == invoke("synthlab", *quick).out
    assert invoke("synthlab", "sweep", *quick, "seed=0,1").status == 0
    assert len(Store(tmp_path).ids()) == 2
    (about,) = tmp_path.rglob("sweep.json")
    assert json.loads(about.read_text())["command"].startswith("synthlab -m protocol.steps=")


COMPLETIONS = {
    "task=": {"task=mean", "task=length", "task=sum"},
    "model.wi": {"model.width="},
    "encoding=support.user_classes:Backwards encoding.str": {"encoding.strength="},
    "task=copy curriculum.st": {"curriculum.start="},
    "sweep task=text alignment.al": {"alignment.alpha="},
    "study cras": {"crasp", "crasp/tasks", "crasp/quick"},
    "study crasp see": {"seeds="},
    "theory trained.linear.protocol.n": {"trained.linear.protocol.name="},
    "fig": {"figures"},
    "mo": {"model=", "model."},
    "collect re": set(),  # the shell completes names of files
    "bench ": set(),
}


@pytest.mark.parametrize("line", COMPLETIONS)
def test_tab_completes_subcommands_and_keys(invoke, monkeypatch, line):
    monkeypatch.setenv("COMP_LINE", f"synthlab {line}")
    outcome = invoke("synthlab", "-sc", "query=bash")  # what the completion of the shell sends
    assert (outcome.status, outcome.err) == (0, "")
    completed = outcome.out.split()
    assert set(completed) >= COMPLETIONS[line]
    assert all(word.startswith(line.split(" ")[-1]) for word in completed)
    assert bool(completed) == bool(COMPLETIONS[line])


@pytest.mark.parametrize("words", [["task=copy", "--help"], ["sweep", "task=text", "--help"]])
def test_the_help_of_a_task_imports_nothing_heavy(words):
    done = shell(sys.executable, "-c", LIGHT, *words, LINES="none")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Keys, with the defaults of this task" in done.stdout


@pytest.mark.slow
def test_tab_completion_imports_nothing_heavy():
    light = [line for line in COMPLETIONS if ":" not in line]  # a class of the user imports torch
    lines = ",".join(f"synthlab {line}" for line in light)
    done = shell(sys.executable, "-c", LIGHT, "-sc", "query=bash", LINES=lines)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) >= set().union(*map(COMPLETIONS.get, light))


@pytest.mark.slow
@pytest.mark.parametrize(("line", "reply"), [("synthlab the", "theory"), ("synthlab run model.wi", "model.width=")])
def test_tab_completion_works_in_bash_as_the_help_says(line, reply):
    words = line.split()
    script = (
        'eval "$(synthlab -sc install=bash)"; complete -p synthlab | grep -q hydra_bash_completion || exit 3; '
        f"COMP_LINE='{line}' COMP_POINT={len(line)} COMP_CWORD={len(words) - 1}; hydra_bash_completion; "
        'echo "${COMPREPLY[@]}"'
    )
    done = shell("bash", "-c", script)
    assert (done.returncode, done.stdout) == (0, f"{reply}\n"), done.stderr
