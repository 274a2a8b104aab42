"""The languages, by name."""

from synthlab.config.registry import Registry
from synthlab.language.hidden_markov import HiddenMarkov
from synthlab.language.recall import Recall
from synthlab.language.source import Language
from synthlab.language.text import Text

LANGUAGES = Registry("language", Language, {"hidden_markov": HiddenMarkov, "recall": Recall, "text": Text})
