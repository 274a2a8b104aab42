"""The subcommands of ``synthlab``: their names, descriptions, and dispatch.

The lab's own are in a table. A package adds a subcommand by an entry point of the group ``synthlab.commands``: the name
is the subcommand, the value ``module:function`` is what it calls.
"""

import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from synthlab.cli.arguments import exit_on_input_error
from synthlab.errors import InputError, format_error
from synthlab.output import say

GROUP = "synthlab.commands"
# A wheel has here the packages that are next to synthlab in a checkout.
PACKAGES = Path(__file__).parents[1] / "packages"


class Command(NamedTuple):
    """A subcommand: ``module:function`` that it calls, what it does, and whether its arguments are Hydra's keys."""

    calls: str
    does: str
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
    "walkthrough": Command(
        "classroom.lessons.walkthrough:main", "write the lessons of conf/story as one page for reading and printing"
    ),
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
    with exit_on_input_error():
        if words in (["--help"], ["-h"]):
            say(*_overview())
            return
        if len(words) == 2 and words[0] == "-sc" and words[1].startswith("query="):
            command = _complete(os.environ.get("COMP_LINE", ""))
        elif not words or _belongs_to_run(words[0]):
            command = _load("run")
        else:
            command = _load(words[0])
            del sys.argv[1]
    command()


def find_commands() -> dict[str, Command]:
    """Return the subcommands by name, the lab's own first."""
    from importlib.metadata import entry_points  # not needed for a run, whose start-up it would slow down

    found = {
        each.name: Command(each.value, f"of {each.value.split('.')[0]}", False) for each in entry_points(group=GROUP)
    }
    return COMMANDS | {name: found[name] for name in sorted(found.keys() - COMMANDS.keys())}


def _belongs_to_run(word: str) -> bool:
    return "=" in word or word.startswith(("-", "+", "~"))


def _load(name: str) -> Callable[[], None]:
    """Return the function of the subcommand ``name``. Raises InputError if it is unknown or cannot be imported."""
    known = COMMANDS if name in COMMANDS else find_commands()
    if name not in known:
        from synthlab.config.registry import did_you_mean

        close = did_you_mean(name, known)
        raise InputError(
            f"{name}: unknown command{close}; choose from {', '.join(known)}, or give settings as key=value"
        )
    module, _, function = known[name].calls.partition(":")
    try:
        return getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{name}: cannot be imported ({format_error(error)})") from None


def _overview() -> Iterator[str]:
    """Yield the lines of ``synthlab --help``."""
    known = find_commands()
    width = max(map(len, known))
    yield "synthlab [COMMAND] [key=value ...]    without COMMAND: run\n"
    for name, command in known.items():
        yield f"  {name:<{width}}  {command.does}"
    yield "\nsynthlab task=copy --help              keys of a run on this task: choices, defaults"
    yield "synthlab run --help                    the same for task=mean"
    yield "synthlab COMMAND --help                arguments of another command"
    yield 'eval "$(synthlab -sc install=bash)"    in bash: <TAB> completes commands and keys'


def _complete(line: str) -> Callable[[], None]:
    """Return the function that completes ``line`` for a shell; keys are completed by the Hydra application it names.

    That application reads the line from ``COMP_LINE``, from which the subcommand is removed. Subcommands are printed
    here.
    """
    program, _, rest = line.lstrip().partition(" ")
    first, space, behind = rest.lstrip().partition(" ")
    if _belongs_to_run(first):
        return _load("run")
    known = find_commands()
    if not space:
        say(*(name for name in known if name.startswith(first)))
    elif first in known:
        os.environ["COMP_LINE"] = f"{program} {behind}"
        # For the arguments of other commands, the shell completes file names.
        return _load(first) if known[first].takes_keys else sys.exit
    return _load("run")
