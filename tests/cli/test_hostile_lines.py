"""Hostile command lines: what nothing can be meant by is refused in lines that say why, and nothing is trained.

The law covers every command, by its own word: the keys are those that ``--cfg job`` prints.
"""

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import yaml

from synthlab.cli.commands import COMMANDS

pytestmark = pytest.mark.slow

EACH = 60  # lines of a command, of which there are more
NEEDED = {"evaluate": ["model=none", "texts=none"], "extend": ["pretrained=none", "texts=none"]}
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
FOR_ARGPARSE = ["--nothing", "-z", "a b c d", "--out", "--nothing=3"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_hostile_command_line_is_refused_in_lines_that_say_why(invoke, command, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.Tensor, "backward", None)  # would raise
    monkeypatch.setattr("synthlab.sweeps.sweep.Sweep.train", lambda *_, **__: pytest.fail("it trains"))
    monkeypatch.chdir(tmp_path)
    draw, needed = random.Random(command), NEEDED.get(command, [])
    status, config, _ = invoke("synthlab", command, "--cfg", "job", *needed)
    malformed = FOR_ARGPARSE if status else [*malformed_settings(yaml.safe_load(config), draw), *FOR_HYDRA.split("; ")]
    for line in draw.sample(malformed, min(len(malformed), EACH)):
        words = line.split(" ") if "'" not in line else [line]
        keys = {word.partition("=")[0] for word in words}
        outcome = invoke("synthlab", command, *(each for each in needed if each.partition("=")[0] not in keys), *words)
        told = [each for each in outcome.err.strip("\n").split("\n") if not each.startswith("warning: ")]
        assert (outcome.status, bool(told)) == (2, True), (line, outcome)
        assert all(each.startswith("error: ") and len(each) < 3000 for each in told), (line, outcome.err)
        assert "Traceback" not in outcome.out
        assert not [path for path in tmp_path.rglob("*") if path.is_file()], line


def malformed_settings(settings: dict[str, Any], draw: random.Random, prefix: str = "") -> Iterator[str]:
    """Overrides of a config that nothing can be meant by: unknown keys, unknown members, values of another type."""
    for key, value in settings.items():
        if prefix + key == "study.quick":  # no figure of the default set, and not read
            continue
        name = "q" + "".join(draw.choices("abcxyzäß7", k=draw.randint(1, 8)))
        yield f"{prefix}{name}={draw.choice(['1', 'x', 'null'])}"
        if isinstance(value, dict):
            yield from (f"{prefix}{key}={name}", f"{prefix}{key}=3", f"{prefix}{key}={{{name}:1}}")
            yield from malformed_settings(value, draw, f"{prefix}{key}.")
        else:
            yield from (f"{prefix}{key}={wrong}" for wrong in WRONG.get(type(value), []))
