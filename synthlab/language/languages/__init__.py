"""The languages, by name."""

from synthlab.config.registry import Registry
from synthlab.language.languages.hidden_markov import HiddenMarkov
from synthlab.language.languages.recall import Recall
from synthlab.language.languages.source import Language
from synthlab.language.languages.text import Text
from synthlab.language.languages.tracking import Tracking

LANGUAGES = Registry(
    "task", Language, {"hidden_markov": HiddenMarkov, "recall": Recall, "text": Text, "tracking": Tracking}
)
