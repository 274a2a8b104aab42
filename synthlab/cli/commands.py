"""The subcommands of ``synthlab``: their names, descriptions, and dispatch."""

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from synthlab.cli.arguments import refuse
from synthlab.output import print_out

# A wheel has here the packages that are next to synthlab in a checkout.
PACKAGES = Path(__file__).parents[1] / "packages"


class Command(NamedTuple):
    """A subcommand: ``module:function`` that it calls, what it does, and whether its arguments are Hydra's keys."""

    target: str
    summary: str
    takes_keys: bool = True


COMMANDS = {
    "run": Command("synthlab.cli.run:main", "train one model, unless it is recorded, and print its error by length"),
    "sweep": Command(
        "synthlab.cli.run:sweep", "train every combination of the values given, and rank them; also synthlab -m"
    ),
    "study": Command(
        "experiments.__main__:main", "list papers and their studies, or train, plot and judge a paper's study"
    ),
    "figures": Command(
        "experiments.output_alignment.__main__:main",
        "short for synthlab study output_alignment, with figure=1 for output_alignment/figure1",
    ),
    "atlas": Command(
        "experiments.atlas.__main__:main",
        "train an encoding or a mixer, such as mine:Encoding, on tasks of all families, and show it beside all others",
        False,
    ),
    "collect": Command(
        "synthlab.collect:main", "write all runs of a results folder as one table, a CSV or Parquet file", False
    ),
    "compare": Command(
        "synthlab.compare:main",
        "plot any metric against any setting, grouped and faceted by others, over all runs",
        False,
    ),
    "show": Command(
        "synthlab.cli.show:main", "show one run: its settings, numbers by length, training curve, or its error", False
    ),
    "check": Command(
        "synthlab.cli.check:main",
        "measure the laws that a class of your own must keep, such as mine:LogDistance",
        False,
    ),
    "evaluate": Command(
        "synthlab.huggingface.evaluate:main",
        "measure a language model on long texts, by perplexity at each length and by position",
    ),
    "extend": Command(
        "synthlab.huggingface.extend:main", "extend the context of a causal model of Hugging Face by fine-tuning"
    ),
    "theory": Command(
        "theory.__main__:main", "check the paper's appendix B, train what is missing, and write results/theory/"
    ),
    "demo": Command("classroom.__main__:main", "open a page on which a class watches models learn"),
    "bench": Command(
        "experiments.bench.__main__:main",
        "measure how fast the lab is on this machine, with nothing else running",
        False,
    ),
}


def main() -> None:
    """Run the subcommand that the command line names; without one, ``run``."""
    if PACKAGES.is_dir():
        sys.path.append(str(PACKAGES))  # workers inherit it
    words = sys.argv[1:]
    name = words[0] if words else "run"
    if words in (["--help"], ["-h"]):
        print_out(*_overview())
        return
    if len(words) == 2 and words[0] == "-sc" and words[1].startswith("query="):
        name = _complete(os.environ.get("COMP_LINE", ""))
    elif "=" in name or name.startswith(("-", "+", "~")):
        name = "run"
    else:
        del sys.argv[1:2]
    if name not in COMMANDS:
        from synthlab.runs.registry import did_you_mean

        close = did_you_mean(name, COMMANDS)
        refuse(f"{name}: unknown command{close}; choose from {', '.join(COMMANDS)}, or give settings as key=value")
    module, _, function = COMMANDS[name].target.partition(":")
    getattr(import_module(module), function)()


def _overview() -> Iterator[str]:
    """Yield the lines of ``synthlab --help``."""
    width = max(map(len, COMMANDS))
    yield "synthlab [COMMAND] [key=value ...]    without COMMAND: run\n"
    for name, command in COMMANDS.items():
        yield f"  {name:<{width}}  {command.summary}"
    yield "\nsynthlab task=copy --help              keys of a run on this task: choices, defaults"
    yield "synthlab run --help                    the same for task=mean"
    yield "synthlab COMMAND --help                arguments of another command"
    yield 'eval "$(synthlab -sc install=bash)"    in bash: <TAB> completes commands and keys'


def _complete(line: str) -> str:
    """Complete the subcommand of ``line`` for a shell; return the subcommand that completes its keys.

    Hydra reads the line from ``COMP_LINE``, from which the subcommand is removed.
    """
    program, _, rest = line.lstrip().partition(" ")
    first, space, behind = rest.lstrip().partition(" ")
    if not space:
        print_out(*(name for name in COMMANDS if name.startswith(first)))
    if not space or first not in COMMANDS:
        return "run"
    if not COMMANDS[first].takes_keys:
        sys.exit()  # the shell completes names of files
    os.environ["COMP_LINE"] = f"{program} {behind}"
    return first
