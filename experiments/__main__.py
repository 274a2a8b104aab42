"""``synthlab figures``: train what is missing for the paper's figures, draw them, and judge its claims.

With ``paper=NAME`` it does so for another paper, a folder of ``experiments/`` with a ``paper.py``. A file of
``conf/paper/`` belongs to the folder that it is called after: ``crasp`` and ``crasp_quick`` to ``crasp``.
"""

import re
import sys
from functools import partial
from importlib import import_module
from itertools import accumulate
from pathlib import Path

from synthlab.cli import studies
from synthlab.errors import InputError

NO_SWEEPS = "figures are not swept; name one, or several in a file of conf/{}/"


def paper():
    """Import Output Alignment, when its command has something to do."""
    from experiments.output_alignment.paper import PAPER

    return PAPER


def other_paper(name: str):
    """Import the paper to which the file ``name`` of ``conf/paper/`` belongs. Raises InputError where there is none."""
    for folder in reversed(list(accumulate(name.split("_"), "{}_{}".format))):
        if folder.isidentifier() and (Path(__file__).parent / folder / "paper.py").is_file():
            return import_module(f"experiments.{folder}.paper").PAPER
    raise InputError(
        f"paper={name}: must be called as a folder of experiments/ that has a paper.py, or begin so, as NAME_"
    )


def main() -> None:
    named = [word.partition("=")[2].strip("'\"") for word in sys.argv[1:] if re.match(r"\+*paper=", word)]
    if named:
        studies.main(partial(other_paper, named[0]), "figures", "papers", "paper", NO_SWEEPS.format("paper"))
    else:
        studies.main(paper, "figures", "experiments", "figure", NO_SWEEPS.format("figure"))


if __name__ == "__main__":
    main()
