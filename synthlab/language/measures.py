"""The measures of language models."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from synthlab.config.registry import forbid_imports
from synthlab.errors import InputError
from synthlab.metrics import Measures, Metric, reach

if TYPE_CHECKING:
    from synthlab.language.config import LanguageConfig

# The last two are recorded for languages whose distribution is known.
METRICS = {
    "loss": Metric("cross-entropy of the next token, nats", "lower", "linear", ".3f"),
    "calibrated": Metric("the same at the temperature fitted within the training length, nats", "lower"),
    "accuracy": Metric("top-1 accuracy of the next token", "higher", "linear", ".1%"),
    "perfect": Metric("cross-entropy of the Bayes-optimal predictor, nats", "lower"),
    "excess": Metric("KL divergence of the model from the Bayes-optimal predictor, nats", "lower", "log", ".3g"),
}
MARGIN = 0.1  # nats: a factor of 1.1 in perplexity
WINDOW = 4  # losses are averaged over 1 / WINDOW of the training length: at one position they are too noisy


def chance(config: "LanguageConfig", metrics: pd.DataFrame) -> Sequence[float] | None:
    """Return the loss of a uniform guess.

    Return None for a class of the user, since reading a record must not import it, and for a language that cannot be
    built here.
    """
    from synthlab.language.languages import LANGUAGES

    kind = LANGUAGES.get(config.task["name"])
    if kind is None:
        return None
    try:
        with forbid_imports():
            vocabulary = getattr(kind, "vocabulary", None) or LANGUAGES.build(config.task).vocabulary
    except InputError:
        return None
    return [math.log(vocabulary)] * len(metrics)


def horizon(config: "LanguageConfig", metrics: pd.DataFrame) -> int:
    """Return the greatest context length up to which the loss exceeds that at ``train_length`` by at most ``MARGIN``.

    Lengths count from ``train_length`` on. The horizon is 0 if the loss there is no better than a uniform guess.

    Losses are means over the last quarter of ``train_length`` tokens.
    """
    lengths = metrics["length"].to_numpy()
    window = max(1, min(config.train_length // WINDOW, len(lengths)))
    losses = metrics["loss"].rolling(window).mean().to_numpy()
    trained = lengths >= min(config.train_length, lengths[-1])
    lengths, losses = lengths[trained], losses[trained]
    guess = chance(config, metrics)
    return reach(lengths, losses <= min(losses[0] + MARGIN, math.inf if guess is None else guess[0]))


MEASURES = Measures(
    METRICS,
    primary="loss",
    ranking=("loss",),
    criterion=f"loss stays below chance and within {MARGIN} nats of that at train_length",
    horizon=horizon,
    chance=chance,
)
