"""Hostile command lines, some thousand over all commands: each is refused in lines that say why, nothing is trained.

The law covers the commands that exist, by their own word: the keys are those that ``--cfg job`` prints, the options
those of ``--help``. Malformed lines must be refused. Odd ones may mean something; they must not end in a traceback.
"""

import random
import re
import shlex
import signal
import socket
import subprocess
import sys
import webbrowser
from collections.abc import Callable, Iterator
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from joblib import Parallel

from support.configs import QUICK
from synthlab.cli.commands import COMMANDS
from synthlab.cli.commands import main as synthlab
from synthlab.config.composition import to_overrides

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MALFORMED_EACH, ODD_EACH, SECONDS = 60, 40, 20  # lines of a command with keys, of which there are more; for a line

# What commands cannot do without, and what makes their work short where a line is accepted after all.
BASE = {
    "run": [*to_overrides(QUICK)],
    "sweep": [*to_overrides(QUICK), "workers=1"],
    "collect": ["{folder}/results"],
    "compare": ["{folder}/results"],
    "evaluate": ["model={folder}/model", "texts={folder}/texts", "lengths=[8]", "tokens=64", "device=cpu"],
    "extend": ["pretrained={folder}/model", "texts={folder}/texts", "output=out", "device=cpu"],
}
ODD = [
    "",
    " ",
    "a\nb",
    "x" * 5000,
    "[" * 200,
    str(10**30),
    "\u202e",
    "-1",
    "1e300",
    "a,b",
    "range(3)",
    "glob(*)",
    "null",
]
ODD += [
    "${oc.env:HOME}",
    "{",
    "'",
    "\\",
    "../../x",
    "/dev/null",
    "s3://",
    "os:path",
    "a:b:c",
    "-",
    "--",
    "nope://x",
    "???",
]
WRONG = {
    bool: ["abc", "3", "{a:1}", "[1]", "'true '", "数"],
    int: ["abc", "{a:1}", "1e400", "nan", "-inf", "'7'", "数", "🙂", str(-(10**20)), "true"],
    float: ["abc", "{a:1}", "nan", "inf", "true", "'0.5'", "🙂"],
    str: ["{a:1}", "[{a:1}]"],
    list: ["{a:1}", "abc", "3"],
}
FOR_HYDRA = "=; =3; +; ~nothing; ++nothing=1; nothing@here=1; word; a=b=c[; --nothing; -z; --cfg nothing; --package"
FOR_HYDRA += "; --config-dir /nowhere; --config-name nothing; --experimental-rerun x.pickle; hydra=null; hydra.mode=x"
FOR_HYDRA += "; hydra/launcher=nothing; hydra.nothing=1; +hydra=nothing; hydra=[1]"
FOR_ARGPARSE = ["--nothing", "-z", "a b c d", "--out", "--nothing=3", "''  ''"]


class Accepted(BaseException):
    """The line was taken: work begins that no test waits for."""


def programs() -> dict[str, tuple[Callable[[], None], list[str]]]:
    """All commands: what each calls, and the words before its arguments."""
    found = {name: (synthlab, ["synthlab", name]) for name in COMMANDS}
    known = {command.calls.partition(":")[0] for command in COMMANDS.values()}
    for path in ROOT.glob("experiments/*/__main__.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if module not in known:
            found[path.parent.name] = (import_module(module).main, [module])
    return found


PROGRAMS = programs()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A model, texts and results for the commands that read such."""
    pytest.importorskip("transformers")
    from support.language_models import saved
    from synthlab import run

    made = tmp_path_factory.mktemp("given")
    saved(made / "model")
    (made / "texts").mkdir()
    (made / "texts" / "a.txt").write_text("abc " * 500)
    for seed in (0, 1):
        run(task="length", seed=seed, results=str(made / "results"), **QUICK)
    return made


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Call a command line in a new folder: its status, None where it was accepted, what it printed, and the folder."""
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.hydra_config import HydraConfig

    accepted: list[bool] = []

    def accept(*_: Any, **__: Any) -> None:
        accepted.append(True)  # a sweep takes what its runs raise for their failure
        raise Accepted

    # Parallel: a thread of joblib's would stumble over a process that does not start.
    started = [(Parallel, "__call__"), (BaseProcess, "start"), (subprocess.Popen, "__init__")]
    for owner, name in [(torch.Tensor, "backward"), *started]:
        monkeypatch.setattr(owner, name, accept)
    monkeypatch.setattr(socket.socket, "bind", lambda self, _: accept(self.close()))
    monkeypatch.setattr(webbrowser, "open", accept)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    numbers = iter(range(10**6))

    def called(command: str, words: list[str]) -> tuple[int | None, str, str, Path]:
        program, before = PROGRAMS[command]
        here = tmp_path / "a" / "b" / str(next(numbers))  # ../../x is within tmp_path
        here.mkdir(parents=True)
        monkeypatch.chdir(here)
        GlobalHydra.instance().clear()
        HydraConfig.instance().cfg = None
        monkeypatch.setattr(sys, "argv", [*before, *words])
        accepted.clear()
        old = signal.signal(signal.SIGALRM, accept)
        signal.alarm(SECONDS)
        try:
            program()
            status = 0
        except SystemExit as left:
            status = int(left.code or 0)
        except Accepted:
            status = 0
        except Exception as error:
            status = 1
            print("Traceback", repr(error), file=sys.stderr)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, old)
        printed = capsys.readouterr()
        return None if accepted else status, printed.out, printed.err, here

    return called


@pytest.mark.parametrize("command", PROGRAMS)
def test_a_hostile_command_line_is_refused_in_lines_that_say_why(command, call, folder):
    base = [word.format(folder=folder) for word in BASE.get(command, [])]
    status, config, _, _ = call(command, ["--cfg", "job", *base])
    draw = random.Random(command)
    if status == 0:
        keys = dict(flat(yaml.safe_load(config)))
        malformed = [*malformed_settings(keys, draw), *FOR_HYDRA.split("; ")]
        odd = [[f"{key}={value}"] for key in keys for value in ODD]
    else:
        options = re.findall(r"^ +(--[a-z]+) ", call(command, ["--help"])[1], re.MULTILINE)
        malformed = FOR_ARGPARSE
        odd = [given for value in ODD for given in [[value], *([option, value] for option in options)]]
    malformed = draw.sample(malformed, min(len(malformed), MALFORMED_EACH))
    odd = draw.sample(odd, min(len(odd), ODD_EACH))
    cases = [(shlex.split(line) if "'" in line and " " in line else line.split(" "), True) for line in malformed]
    cases += [(words, False) for words in odd]
    faults = [fault for words, bad in cases if (fault := fault_of(call(command, together(base, words)), bad, words))]
    assert not faults, "\n".join(map(str, faults))


def fault_of(outcome: tuple[int | None, str, str, Path], bad: bool, words: list[str]) -> tuple[Any, ...] | None:
    """What is wrong with how a command answered, or None."""
    status, out, err, here = outcome
    lines = err.strip("\n").split("\n") if err.strip("\n") else []
    told = [line for line in lines if line.startswith("error: ")]
    wrong = "Traceback" in out + err
    if status == 2:
        wrong |= not told or told != [line for line in lines if not line.startswith("warning: ")]
        wrong |= any(len(line) > 3000 for line in told) or any(path.is_file() for path in here.rglob("*"))
    else:
        wrong |= bad or status not in (0, None)
    return (words, status, lines[:4], [*here.rglob("*")][:3]) if wrong else None


def together(base: list[str], words: list[str]) -> list[str]:
    """The base with hostile words, which take the place of what it says of the same key."""
    keys = {word.lstrip("+~").partition("=")[0] for word in words}
    return [*(word for word in base if word.partition("=")[0] not in keys), *words]


def malformed_settings(keys: dict[str, Any], draw: random.Random) -> Iterator[str]:
    """Overrides of a config that nothing can be meant by: unknown keys, unknown members, values of another type."""
    for key, value in keys.items():
        name = "q" + "".join(draw.choices("abcxyzäß7", k=draw.randint(1, 8)))
        yield f"{key.rpartition('.')[0]}.{name}={draw.choice(['1', 'x', 'null'])}".lstrip(".")
        if isinstance(value, dict):
            yield from (f"{key}={name}", f"{key}=3", f"{key}={{{name}:1}}")
        else:
            yield from (f"{key}={wrong}" for wrong in WRONG.get(type(value), []))


def flat(settings: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        yield f"{prefix}{key}", value
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
