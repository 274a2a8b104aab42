"""``synthlab atlas``: train one row of the atlas, such as an encoding of your own, and show it beside all others."""

import shlex
import sys
from typing import TYPE_CHECKING

from synthlab.cli import studies
from synthlab.output import say

if TYPE_CHECKING:
    from synthlab.studies.study import Paper

HELP = """synthlab atlas ROW [key=value ...]    train a row of the atlas and show it beside all others

ROW is an encoding or a mixer of the lab, or a class of yours, mine:Encoding; or one of these:
{rows}
The page is RESULTS/atlas/ROW/page.html.

  encoding.KEY, model.KEY   settings of the row
  quick=false               true: two tasks and three seeds, a minute
  seeds, first_seed, replot, results, device, workers, save: as in synthlab study --help

synthlab study atlas trains all rows; atlas/numbers, atlas/sequences and atlas/language those of a family."""
OF_A_ROW = ("encoding.", "encoding@", "model.")


def main() -> None:
    """Run ``synthlab atlas``."""
    words = sys.argv[1:]
    if not words or {"-h", "--help"} & {*words}:
        say(HELP.format(rows=", ".join(studies.read_studies("atlas", "numbers")["numbers"]["arms"])))
        return
    name, settings = words[0], [word for word in words[1:] if word.startswith(OF_A_ROW)]

    def load() -> "Paper":
        from experiments.atlas.study import row_alone

        return row_alone(name, settings)

    rest = [word for word in words[1:] if word not in settings]
    studies.main({"atlas": load}, ["atlas", *rest], shlex.join(["synthlab", "atlas", *words]))


if __name__ == "__main__":
    main()
