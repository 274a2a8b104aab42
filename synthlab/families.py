"""The lab's families of tasks, in one list. Importing this module registers their runs (``runs.run.RUN_TYPES``)."""

from synthlab.language.run import LanguageRun
from synthlab.numbers.run import NumbersRun
from synthlab.runs.run import Run
from synthlab.sequences.run import SequencesRun

# Another package adds a family by an entry point of the group ``synthlab.families``.
FAMILIES: tuple[type[Run], ...] = (NumbersRun, LanguageRun, SequencesRun)
