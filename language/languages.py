"""The languages, by name."""

from language.hidden_markov import HiddenMarkov
from language.recall import Recall
from language.source import Language
from language.text import Text
from synthlab.registry import Registry

LANGUAGES = Registry("language", Language, {"hidden_markov": HiddenMarkov, "recall": Recall, "text": Text})
