"""The subcommands of ``synthlab``: their names, descriptions, and dispatch.

A package adds a subcommand by an entry point of the group ``synthlab.commands``: the name is the subcommand, the value
``module:function`` is what it calls. The first line of the module's docstring describes the subcommand. Entry points
let the library offer the commands of packages that it does not import.
"""

import ast
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from synthlab.cli.arguments import exit_on_input_error
from synthlab.errors import InputError, format_error
from synthlab.output import say

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "synthlab.commands"
REPLACED = {
    "language": "synthlab study long_short_alignment",
    "sequences": "synthlab task=NAME, or synthlab sweep task=NAME",
}
# A wheel has here the packages that are next to synthlab in a checkout.
PACKAGES = Path(__file__).parents[1] / "packages"


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
            command = _run()
        else:
            command = _load(words[0])
            del sys.argv[1]
    command()


def find_commands() -> dict[str, "EntryPoint"]:
    """Return the subcommands by name, ``run`` first."""
    from importlib.metadata import entry_points  # not needed for a run, whose start-up it would slow down

    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    return dict(sorted(found.items(), key=lambda item: (item[0] != "run", item[0])))


def description(entry: "EntryPoint") -> str:
    """Return the description of a subcommand in one line."""
    source = _source(entry.module)
    if source is None:
        return f"(not installed: there is no module {entry.module})"
    first = (ast.get_docstring(source) or "").partition("\n")[0]
    return (first.partition(": ")[2] or first).rstrip(".").replace("``", "")


def _run() -> Callable[[], None]:
    from synthlab.cli.run import main

    return main


def _belongs_to_run(word: str) -> bool:
    return "=" in word or word.startswith(("-", "+", "~"))


def _load(name: str) -> Callable[[], None]:
    """Return the function of the subcommand ``name``. Raises InputError if it is unknown or cannot be imported."""
    known = find_commands()
    if name in REPLACED and name not in known:
        raise InputError(f"{name}: is no longer a command; use {REPLACED[name]}")
    if name not in known:
        from synthlab.config.registry import did_you_mean

        choices = ", ".join(known) or "none, since synthlab is not installed: pip install -e ."
        close = did_you_mean(name, known)
        raise InputError(f"{name}: unknown command{close}; choose from {choices}, or give settings as key=value")
    try:
        return known[name].load()
    except (ImportError, AttributeError) as error:
        raise InputError(f"{name}: cannot be imported ({format_error(error)})") from None


def _overview() -> Iterator[str]:
    """Yield the lines of ``synthlab --help``."""
    known = find_commands()
    width = max(map(len, known), default=0)
    yield "synthlab [COMMAND] [key=value ...]    without COMMAND: run\n"
    for name, entry in known.items():
        yield f"  {name:<{width}}  {description(entry)}"
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
        os.environ["COMP_LINE"] = f"{program} {_with_family(rest)}"
        return _run()
    known = find_commands()
    if not space:
        say(*(name for name in known if name.startswith(first)))
    elif first in known:
        os.environ["COMP_LINE"] = f"{program} {_with_family(behind) if first in ('run', 'sweep') else behind}"
        # For the arguments of other commands, the shell completes file names.
        return known[first].load() if _takes_keys(known[first]) else sys.exit
    return _run()


def _with_family(line: str) -> str:
    """Return the words of a run as Hydra takes them, so that it completes keys of the task's family."""
    from synthlab.config.families import expand

    done, space, last = line.rpartition(" ")
    words = done.split()
    keys = [word for word in words if "=" in word and not word.startswith("-")]
    try:
        words = [*(word for word in words if word not in keys), *expand(keys)]
    except InputError:  # a class of the user that cannot be imported
        return line
    return " ".join([*words, last]) if space else last


def _takes_keys(entry: "EntryPoint") -> bool:
    """Return True if a subcommand is a Hydra application, that is, if it imports ``hydra_app``."""
    source = _source(entry.module)
    imports = [node for node in ast.walk(source) if isinstance(node, ast.ImportFrom)] if source else []
    return any(alias.name in ("hydra_app", "studies") for node in imports for alias in node.names)


@cache
def _source(module: str) -> ast.Module | None:
    """Return a module's syntax tree without importing it or its packages, which may take seconds."""
    top, *inner = module.split(".")
    spec = find_spec(top)
    if spec is None:
        return None
    for folder in spec.submodule_search_locations or []:
        for path in (Path(folder, *inner, "__init__.py"), Path(folder, *inner).with_suffix(".py")):
            if path.is_file():
                return ast.parse(path.read_text(encoding="utf-8"))
    return None
