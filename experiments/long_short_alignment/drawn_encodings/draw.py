"""A distribution over position encodings: families of equal weight, settings drawn within each.

Lengths among the settings are drawn relative to the training length, so that texts and number tasks have the same
encodings at their own scale.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

Settings = dict[str, Any]
WITHOUT_SETTINGS = ("nope", "kerple", "fox", "stick_breaking", "cope")  # one family, each of them once


def draw_encodings(each: int, seed: int, train_length: int, test_length: int) -> dict[str, Settings]:
    """Return settings of runs by the name of the encoding: ``each`` of every family, and those without settings.

    The first setting of a family is stratified: the range of its logarithm has ``each`` parts, with one value each.
    """
    random, arms = Random(seed), dict[str, Settings]()
    for number in range(each):
        for family, draw in FAMILIES.items():
            settings = draw((number + random.random()) / each, random, train_length, test_length)
            arms[f"{family} {number + 1}"] = {"encoding": family} | {
                f"encoding{key}": settings[key] for key in settings
            }
    return arms | {name: {"encoding": name} for name in WITHOUT_SETTINGS}


def find_family(encoding: str) -> str:
    """Return the family of a name that ``draw_encodings`` gives."""
    return "without settings" if encoding in WITHOUT_SETTINGS else encoding.split()[0]


def _log_uniform(share: float, low: float, high: float) -> float:
    """Return the value below which a ``share`` of the values lie whose logarithm is uniform, with three digits."""
    return float(f"{low * (high / low) ** share:.3g}")


def _choose(random: Random, values: Sequence[Any]) -> Any:
    return values[int(random.random() * len(values))]


def _base(share: float, random: Random, train: int, test: int) -> Settings:
    return {".base": _log_uniform(share, 10, 1e6)}


def _partial_rope(share: float, random: Random, train: int, test: int) -> Settings:
    return _base(share, random, train, test) | {".share": _choose(random, (0.25, 0.5, 0.75))}


def _leaky_rerope(share: float, random: Random, train: int, test: int) -> Settings:
    settings = {".window": round(train * _log_uniform(share, 0.25, 1))}
    settings |= {".factor": _log_uniform(random.random(), 2, 32), ".scaled": _choose(random, (False, True))}
    return settings | {".trained": train + 2}


def _alibi(share: float, random: Random, train: int, test: int) -> Settings:
    return {".slope": _log_uniform(share, 1 / 16, 16)}


def _t5(share: float, random: Random, train: int, test: int) -> Settings:
    buckets = _choose(random, (4, 8, 16, 32))
    return {".buckets": buckets, ".furthest": max(buckets // 2 + 1, round(train * _log_uniform(share, 0.5, 8)))}


def _fire(share: float, random: Random, train: int, test: int) -> Settings:
    return {".threshold": round(train * _log_uniform(share, 0.5, 8))}


def _window(share: float, random: Random, train: int, test: int) -> Settings:
    width = max(2, round(train * _log_uniform(share, 0.125, 1)))
    return {"@encoding.inner": _choose(random, ("nope", "rope", "alibi", "kerple")), ".width": width}


def _ssmax(share: float, random: Random, train: int, test: int) -> Settings:
    settings = {"@encoding.inner": _choose(random, ("nope", "rope", "alibi", "kerple"))}
    return settings | {".scale": _log_uniform(share, 0.2, 2), ".learned": _choose(random, (False, True))}


def _randomized(share: float, random: Random, train: int, test: int) -> Settings:
    inner = _choose(random, ("sinusoidal", "rope", "alibi", "kerple"))
    return {"@encoding.inner": inner, ".span": round(test * _log_uniform(share, 1, 4)) + 2}


def _learned(share: float, random: Random, train: int, test: int) -> Settings:
    return {".scale": _log_uniform(share, 0.1, 3)}


FAMILIES: dict[str, Callable[[float, Random, int, int], Settings]] = {
    "rope": _base,
    "partial_rope": _partial_rope,
    "leaky_rerope": _leaky_rerope,
    "alibi": _alibi,
    "t5": _t5,
    "fire": _fire,
    "window": _window,
    "ssmax": _ssmax,
    "randomized": _randomized,
    "sinusoidal": _base,
    "learned": _learned,
}
