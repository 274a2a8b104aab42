"""The languages, by name."""

from synthlab.language.languages.hidden_markov import HiddenMarkov
from synthlab.language.languages.recall import Recall, Tracking
from synthlab.language.languages.source import LanguageTask
from synthlab.language.languages.text import Text
from synthlab.runs.registry import Registry

TASKS = Registry(
    "task", LanguageTask, {"hidden_markov": HiddenMarkov, "recall": Recall, "text": Text, "tracking": Tracking}
)
