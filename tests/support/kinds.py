"""Records of every kind of runs, with made-up metrics."""

import pandas as pd

from experiments.long_short_alignment.scalar import ScalarConfig
from support.configs import composed
from support.small import SHAPE
from synthlab.config.base import Config, resolve
from synthlab.storage.records import Record
from theory.language import BoundConfig, LanguageSettings

SMALL = ["train_length=8", "test_length=32", *SHAPE]
SIZES = {"vocabulary": 4, "topics": 2, "stay": 0.9, "width": 3, "train_length": 8, "test_lengths": [12, 32]}


def _run(task: str, seed: int, lr: float) -> Config:
    return resolve(composed(*SMALL, f"task={task}", f"seed={seed}", f"protocol.lr={lr}"))


def _scalar(seed: int, lr: float) -> Config:
    return ScalarConfig.from_raw(_run("length", seed, lr).model_dump(exclude={"kind"}))


def _bound(seed: int, lr: float) -> Config:
    protocol = _run("length", seed, lr).protocol.model_dump()
    return BoundConfig.from_language(LanguageSettings.from_raw(SIZES | {"sequences": 8, "protocol": protocol}), seed)


CONFIGS = {
    "regression": lambda seed, lr: _run("length", seed, lr),
    "sequences": lambda seed, lr: _run("majority", seed, lr),
    "language": lambda seed, lr: _run("text", seed, lr),
    "scalar": _scalar,
    "theorem1": _bound,
}


def of_kind(kind: str, value: float, seed: int = 0, lr: float = 0.003) -> Record:
    """A record of ``kind`` whose every metric is ``value`` at every length."""
    config = CONFIGS[kind](seed, lr)
    lengths = SIZES["test_lengths"] if kind == "theorem1" else range(1, config.test_length + 1)
    metrics = pd.DataFrame({"length": lengths, **dict.fromkeys(config.measures().metrics, value)})
    return Record(config, metrics, pd.DataFrame({"step": [2, 4], "loss": [1.0, 0.5]}))
