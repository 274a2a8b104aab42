"""``synthlab atlas``: train one row of the atlas, such as an encoding of your own, and show it beside all others."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from synthlab.cli import studies
from synthlab.cli.arguments import exit_on_input_error
from synthlab.errors import InputError
from synthlab.output import say
from synthlab.storage.files import write_whole
from synthlab.storage.store import Store

if TYPE_CHECKING:
    from synthlab.studies.study import Paper

HELP = """synthlab atlas ROW [key=value ...]    train a row and show it beside all others: RESULTS/atlas/ROW/page.html
synthlab atlas [results=FOLDER]       show all rows that are recorded: RESULTS/atlas/page.html

ROW is an encoding or a mixer of the lab, or a class of yours, mine:Encoding; or one of these:
{rows}

  encoding.KEY, model.KEY   settings of the row
  quick=false               true: two tasks and three seeds, a minute
  seeds, first_seed, replot, results, device, workers, save: as in synthlab study --help

synthlab study atlas trains all rows; atlas/numbers, atlas/sequences and atlas/language those of a family."""
OF_A_ROW = ("encoding.", "encoding@", "model.")


def main() -> None:
    """Run ``synthlab atlas``."""
    words = sys.argv[1:]
    named = [word for word in words if "=" not in word and not word.startswith("-")]
    if {"-h", "--help"} & {*words}:
        say(HELP.format(rows=", ".join(studies.read_studies("atlas", "numbers")["numbers"]["arms"])))
    elif named:
        train(named[0], words)
    else:
        with exit_on_input_error():
            say("written:", f"  {draw_recorded(words)}")
    sys.exit()


def train(name: str, words: list[str]) -> None:
    """Train the row ``name``; ``words`` are the command line."""
    settings = [word for word in words if word.startswith(OF_A_ROW)]

    def load() -> "Paper":
        from experiments.atlas.study import row_alone

        return row_alone(name, settings)

    rest = [word for word in words if word not in (name, *settings)]
    studies.main({"atlas": load}, ["atlas", *rest], shlex.join(["synthlab", "atlas", *words]))


def draw_recorded(words: list[str]) -> Path:
    """Write the page of all rows that a results folder has, and return it. Raises InputError."""
    from experiments.atlas.page import make_page
    from experiments.atlas.study import tabulate_recorded

    others = [word for word in words if not word.startswith("results=")]
    if others:
        raise InputError(f"{others[0]}: belongs to a row; name it first, as in synthlab atlas rope {others[0]}")
    store = Store(words[-1].partition("=")[2] if words else "results")
    store.make_writable("atlas")
    path = store.root / "atlas" / "page.html"
    write_whole(path, make_page(tabulate_recorded(store)))
    return path


if __name__ == "__main__":
    main()
