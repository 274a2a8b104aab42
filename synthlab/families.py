"""The lab's families of tasks, in one list. Importing this module registers their runs (``config.base.KINDS``)."""

from synthlab.config.base import Config
from synthlab.language.config import LanguageConfig
from synthlab.regression.config import RunConfig
from synthlab.sequences.config import SequencesConfig

# Another package adds a kind of runs by an entry point of the group ``synthlab.kinds``.
FAMILIES: tuple[type[Config], ...] = (RunConfig, LanguageConfig, SequencesConfig)
