"""What the commands of papers, such as ``synthlab figures``, share."""

import re
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from synthlab.cli import hydra_app

if TYPE_CHECKING:
    from synthlab.studies.study import Paper


def main(paper: Callable[[], "Paper"], program: str, config_name: str, group: str, no_sweeps: str) -> None:
    """Run ``synthlab PROGRAM``: train, draw and judge the studies of a paper that the command line names.

    Args:
        paper: Returns the paper. What it imports is imported when there is something to do.
        program: The command's name.
        config_name: The file of ``conf/`` that the command line's settings are of.
        group: The config group whose files are the paper's studies.
        no_sweeps: Why ``-m`` is refused.
    """
    command = shlex.join(["synthlab", program, *sys.argv[1:]])
    sys.argv = [_quoted(word) if word.startswith(f"{group}=") else word for word in sys.argv]

    def task(raw: dict[str, Any]) -> bool:
        with hydra_app.quick_imports():
            from synthlab.studies.command import train_and_report

            chosen = paper()
        return train_and_report(chosen, raw, command)

    hydra_app.main(task, config_name, no_sweeps)


def _quoted(override: str) -> str:
    """``figure=3`` with the 3 in quotes: Hydra takes it for a number and refuses it as the name of a group's file."""
    return re.sub(r"(?<=[=,])(\d+)(?=,|$)", r"'\1'", override)
