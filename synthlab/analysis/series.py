"""What series of runs are called, and how they look, from the settings that distinguish them."""

import sys
from collections.abc import Mapping
from functools import cache
from itertools import cycle
from typing import Any

from synthlab.runs.conf_files import class_groups, families, run_type
from synthlab.styles import LINES, MARKERS, OTHERS, Style, ramp

# The settings that distinguish a series. An arm, settings with a name of their own, is a mapping with that ``name``.
Settings = Mapping[str, Any]

# What axes and legends call a setting, where its value follows an equals sign.
SYMBOLS = {
    "train_length": r"$l_\mathrm{train}$",
    "length": "test length",
    "step": "training step",
    "outrep.p": "exponent $p$",
    "q": "$q$",
    "model.width": "width",
    "model.depth": "layers",
    "model.init_scale": "initial scale",
    "protocol.steps": "training steps",
    "protocol.batch": "batch",
    "protocol.lr": "learning rate",
    "protocol.momentum": "momentum",
    "protocol.beta2": r"$\beta_2$",
    "protocol.clip": "gradient clipping",
    "protocol.schedule": "schedule",
    "curriculum.start": "curriculum start",
    "finetune.lr": "learning rate",
    "finetune.length": "windows",
}
# What a series is called by a setting whose value says it all.
PHRASES = {
    "protocol.optimizer": "{}",
    "protocol.weight_decay": "weight decay {}",
    "curriculum.start": "curriculum from length {}",
    "outrep.start": "starts at {}",
    "exponent": "exponent {}",
    "finetune": "{}",
    "finetune.steps": "{} steps",
    "finetune.length": "windows of {}",
    "pattern": "{} groups",
    "positions": "{} positions",
    "lora": "{}",
}
VALUES = {
    "adam": "Adam",
    "adamw": "AdamW",
    "sgd": "SGD",
    "cream": "CREAM",
    "pose": "PoSE",
    "randpos": "RandPos",
    "longqlora": "LongQLoRA",
}


@cache
def member_styles() -> dict[str, Style]:
    """Return the styles that the lab's encodings and maps carry, by the member's name, in the order of legends."""
    groups = [run_type(family).load_family().groups for family in families()]
    members = [member for group in groups for registry in group.values() for member in registry.items()]
    return {name: made.style for name, made in members if "style" in vars(made)}


def find_style(value: Any) -> Style | None:
    """Return the style of a member of a config group; None if its class has none.

    A class of the user, ``package.module:Class``, may carry one too. It is never imported for that.
    """
    value = value.get("name") if isinstance(value, Mapping) else value
    if not isinstance(value, str):
        return None
    module, colon, name = value.partition(":")
    if colon:
        return vars(getattr(sys.modules.get(module), name, object)).get("style")
    return member_styles().get(value)


def style_of(name: str) -> Style:
    """Return the style of an encoding or a map of the lab."""
    return member_styles()[name]


def name_setting(key: str, value: Any) -> str:
    """Return what a legend calls a setting: a member's label, a phrase, or ``layers = 2``.

    Example:
        >>> from synthlab.analysis.series import name_setting
        >>> name_setting("encoding", "rope"), name_setting("model.depth", 2), name_setting("lora", "longqlora")
        ('RoPE', 'layers = 2', 'LongQLoRA')
    """
    if key == "arm":
        return value["name"] if isinstance(value, Mapping) else str(value)
    style = find_style(value)
    shown = style.label if style else str(VALUES.get(value, value)).removesuffix(".0")
    if key in PHRASES:
        return PHRASES[key].format(shown)
    return shown if style else f"{SYMBOLS.get(key, key)} = {shown}"


def name_series(settings: Settings) -> str:
    """Return what a legend calls a series.

    Example:
        >>> from synthlab.analysis.series import name_series
        >>> name_series({"extension": "pi", "finetune.steps": 50}), name_series({"task": "sum"})
        ('PI, 50 steps', 'sum')
    """
    given = {key: value for key, value in settings.items() if value is not None} or settings
    if len(given) == 1 and (key := next(iter(given))) in class_groups() and not find_style(given[key]):
        return str(given[key])
    return ", ".join(name_setting(key, value) for key, value in given.items())


def plain_label(name: str) -> str:
    r"""Return the label of a member, without mathematical typesetting, for texts and tables.

    The name of another series is only spaced.

    Example:
        >>> from synthlab.analysis.series import plain_label
        >>> plain_label("rsqrt"), plain_label("train_length=5")
        ('1/sqrt(x)', 'train_length = 5')
    """
    style = find_style(name)
    label = style.label if style else name.replace("=", " = ")
    return label.removesuffix(": $x$").replace(r"\sqrt{x}", "sqrt(x)").replace("$", "").replace("\\", "")


def style_series(series: Mapping[str, Settings]) -> dict[str, Style]:
    """Return a style for each series, by its name.

    - Series with the same settings that differ in one number are on a ramp from dark to light.
    - Another series with an encoding or a map has that member's style. Further series with the same member have
      variants of it.
    - The rest have the next styles of a cycle, first those whose colours are free.
    """
    flat = {name: _flatten(settings) for name, settings in series.items()}
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, settings in flat.items():
        alike.setdefault(tuple(settings), []).append(name)
    looks: dict[str, Style] = {}
    ramps = list(filter(None, (_sort_by_number({name: flat[name] for name in names}) for names in alike.values())))
    for turn, names in enumerate(ramps):
        for place, (name, colour) in enumerate(zip(names, ramp(len(names), turn), strict=True), turn):
            looks[name] = Style("", colour, LINES[place % len(LINES)], MARKERS[place % len(MARKERS)])
    turns: dict[Style, list[Settings]] = {}
    for name in (name for name in flat if name not in looks):
        key, style = next(
            ((key, style) for key, value in flat[name].items() if (style := find_style(value))), ("", None)
        )
        if style:
            others = {each: value for each, value in flat[name].items() if each != key}
            known = turns.setdefault(style, [])
            known += [others] * (others not in known)
            looks[name] = style.vary(known.index(others))
    taken = {look.colour for look in looks.values()}
    rest = [name for name in flat if name not in looks]
    free = sorted(OTHERS, key=lambda look: look.colour in taken)
    looks |= dict(zip(rest, cycle(free), strict=False))
    return {name: looks[name]._replace(label=name_series(settings) or name) for name, settings in series.items()}


def _flatten(settings: Settings) -> dict[str, Any]:
    """Return settings with those of an arm in its place, and without missing ones."""
    arm = settings.get("arm")
    found = {**settings}
    if isinstance(arm, Mapping):
        found = {key: value for key, value in ({**arm} | found).items() if key not in ("arm", "name")}
    return {key: value for key, value in found.items() if value is not None}


def _sort_by_number(alike: Mapping[str, Settings]) -> list[str]:
    """Return the names of series with the same keys, by the one number in which they differ; empty if there is none."""
    keys = [key for key in next(iter(alike.values())) if len({str(each[key]) for each in alike.values()}) > 1]
    if len(keys) != 1:
        return []
    try:
        return sorted(alike, key=lambda name: float(alike[name][keys[0]]))
    except (TypeError, ValueError):
        return []
