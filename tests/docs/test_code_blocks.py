"""The code of the README, CONTRIBUTING and the site: Python blocks run, commands compose.

- The blocks of a page share their names, from top to bottom. A block whose first line is a file's name (``# mine.py``)
  is also that file in the working folder. Every run that a block trains takes 4 steps (``QUICK``, before the block's
  own settings).
- Commands stand in ``sh`` blocks, or between backticks. Hydra's are composed and checked, not run; ``range(N)`` and
  ``glob(*)`` then stand for two values. ``collect`` and ``compare`` run on a few small records.
"""

import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from experiments.papers import atlas, papers
from experiments.reference import ROOT, pages
from support.configs import QUICK, small
from support.records import opened
from synthlab import run
from synthlab.cli import studies
from synthlab.huggingface.perplexity.settings import Settings
from synthlab.runs.composition import LAUNCHERS, Composer, compose, quote, to_overrides
from synthlab.runs.run import resolve
from synthlab.studies.overrides import Overrides
from synthlab.sweeps.sweep_grid import grid

TEXTS = [*pages(), ROOT / "CONTRIBUTING.md"]
# The config that a command composes.
HYDRA = {"run": "config", "sweep": "config", "figures": "study", "demo": "classroom"}
HYDRA |= {"atlas": "study"} | {name: name for name in ("study", "theory", "extend", "evaluate")}
TABLES = ("collect", "compare")
OTHERS = ("bench",)  # takes no settings
MODULES = {
    "synthlab": "run",
    "experiments": "study",
    "theory": "theory",
    "classroom": "demo",
}


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[str]:
    """The commands of a page that are the lab's or make's."""
    lines = [line for block in blocks(page, "sh") for line in block.replace("\\\n", " ").splitlines()]
    lines += re.findall(
        r"`((?:synthlab|python -m|make) [^`\n]+)`", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
    )
    return [line for line in lines if line.startswith(("synthlab ", "python -m ", "make "))]


QUICK_PAGES = ("README.md", "tutorial.md")
CASES = [(page, line) for page in TEXTS for line in dict.fromkeys(commands(page))]


def cases() -> Iterator[Any]:
    """The commands with their pages; those of most pages are slow, since together they take long."""
    for page, line in CASES:
        marks = [] if page.name in QUICK_PAGES else [pytest.mark.slow]
        yield pytest.param(page, line, marks=marks, id=f"{page.name}: {line}")


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A working folder with the files that pages speak of."""
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / "my-folder" / "protocol").mkdir(parents=True)
    shutil.copy(ROOT / "conf" / "protocol" / "lab.yaml", tmp_path / "my-folder" / "protocol" / "long.yaml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


def write_files(page: Path, folder: Path) -> None:
    for block in blocks(page, "python"):
        name = re.match(r"# (\w+\.py)\n", block)
        if name:
            (folder / name[1]).write_text(block)


@pytest.mark.filterwarnings("ignore:'pin_memory' argument is set as true:UserWarning")  # Trainer's default, on a CPU
@pytest.mark.parametrize(
    "page",
    [
        page if page.name in QUICK_PAGES else pytest.param(page, marks=pytest.mark.slow)
        for page in TEXTS
        if blocks(page, "python")
    ],
    ids=lambda page: page.name,
)
def test_python_blocks_run(page, workplace, monkeypatch):
    monkeypatch.setattr("synthlab.api.Composer", lambda: Composer(to_overrides(QUICK)))
    names = {}
    if page.name == "evaluate.md":
        pytest.importorskip("lm_eval")
        names["trained"] = opened(small("task=text", "encoding=rope"))
    write_files(page, workplace)
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), names)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder of a few small records."""
    folder = tmp_path_factory.mktemp("trained") / "results"
    for task in ("length", "sum"):
        run(**QUICK, task=task, outrep="rsqrt", results=folder, progress=False, tag="pilot")
    return folder


@pytest.mark.parametrize(("page", "line"), list(cases()))
def test_commands_compose(page, line, workplace, results, invoke):
    write_files(page, workplace)
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
        return
    if words[0] == "python":
        assert find_spec(words[2])
        if words[2] not in MODULES:
            return
        words = [MODULES[words[2]], *words[3:]]
    else:
        words = words[1:] if words[1] in (*HYDRA, *TABLES, *OTHERS) else ["run", *words[1:]]
    command, arguments = words[0], words[1:]
    if command in TABLES:
        shutil.copytree(results, "results")
        outcome = invoke(command, *("results" if word.startswith("/shared/") else word for word in arguments))
        assert outcome.status == 0, outcome.err
    elif command in HYDRA:
        check(command, arguments)
    else:
        assert not arguments


def check(command: str, arguments: list[str]) -> None:
    """Compose what a command of Hydra's would run; raises InputError."""
    folders = [Path(folder).resolve() for flag, folder in pairwise(arguments) if flag == "--config-dir"]
    path = [f"hydra.searchpath=[{quote(f'file://{folder}')}]" for folder in folders]
    overrides = [word for word in arguments if "=" in word or word.startswith("~")]
    overrides = [word for word in overrides if not word.startswith(("-", "hydra"))]
    for word in arguments:
        if word.startswith("hydra/launcher="):
            assert word.partition("=")[2] in LAUNCHERS
    if command == "sweep" or "-m" in arguments:
        few = [re.sub(r"=range\(\d+\)", "=range(2)", override).replace("glob(*)", "glob(n*)") for override in overrides]
        assert grid([*path, *few]).configs
        return
    strings = overrides
    if HYDRA[command] == "study":
        check_study(command, [*path, *strings], [word for word in arguments if "=" not in word and word[0] not in "-~"])
        return
    if command in ("evaluate", "extend") and not overrides:  # only named: it could not run without a model and texts
        return
    if command == "evaluate":  # its config has a folder of its own
        Settings.from_raw(compose(strings, "evaluate", "evaluate"))
        return
    raw = compose([*path, *strings], HYDRA[command])
    if command == "run":
        resolve(raw)


def check_study(command: str, overrides: list[str], named: list[str]) -> None:
    """Compose a study, and the runs of its first grids; raises InputError."""
    short = [override.partition("=")[2] for override in overrides if override.startswith("figure=")]
    if command == "atlas":
        named, overrides = ["atlas"], [each for each in overrides if not each.startswith(("encoding.", "model."))]
    short = [f"output_alignment/{'figure' if each.isdigit() else ''}{each}" for each in short]
    name, _, study = [*short, *named, "output_alignment"][0].partition("/")
    study = study or ("quick" if "quick=true" in overrides else "default")
    words = [override for override in overrides if not override.startswith("figure=")]
    own = [word for word in words if studies.is_command_key(word)]
    found = compose([f"study={name}/{studies.studies_of(name)[study]}", *own], "study")["study"]
    first = {**papers(), "atlas": atlas}[name]().studies(found)[next(iter(studies.read_studies(name, study)))]
    of_runs = Overrides(word for word in words if word not in own)
    of_runs.check_all_taken(first.families(of_runs))
    first.plan("s", of_runs, seeds=1)


def test_code_is_found():
    assert len([page for page in TEXTS if blocks(page, "python")]) >= 5
    assert {page.name for page, _ in CASES} >= {"README.md", "tutorial.md", "sweeps.md", "extending.md"}
