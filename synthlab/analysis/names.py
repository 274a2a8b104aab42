"""Names for readers: what a legend, an axis or a title calls a member, a setting or a series."""

import re
from textwrap import TextWrapper

# Of encodings, which are context extensions too, and of maps.
NAMES = {
    "nope": "NoPE",
    "alibi": "ALiBi",
    "rope": "RoPE",
    "partial_rope": "partial RoPE",
    "pi": "PI",
    "ntk": "NTK",
    "yarn": "YaRN",
    "eabf": "EABF",
    "clex": "CLEX",
    "dynamic_ntk": "dynamic NTK",
    "longrope": "LongRoPE",
    "self_extend": "Self-Extend",
    "rerope": "ReRoPE",
    "leaky_rerope": "leaky ReRoPE",
    "dual_chunk": "dual chunk",
    "learned": "learned",
    "sinusoidal": "sinusoidal",
    "t5": "T5 bias",
    "randomized": "randomized",
    "identity": "plain: $x$",
    "sqrt": r"$\sqrt{x}$",
    "log": r"$\log x$",
    "rsqrt": r"$1/\sqrt{x}$",
    "reciprocal": "$1/x$",
    "rlog": r"$1/\log(x+1)$",
    "power": "$x^p$",
    "box_cox": "learned power (Box-Cox)",
    "monotone": "learned chain of powers",
    "chosen": "chosen",
}
# Of tasks and languages whose own names are short for a formula; of others, underscores are spaces.
TASKS = {
    "aa_star": "(aa)*",
    "aaaa_star": "(aaaa)*",
    "abab_star": "(abab)*",
    "aabbccddee": "aa*bb*cc*dd*ee*",
    "adbc": "{a,b}*d{b,c}*",
    "zero_two": "{0,1,2}*02*",
    "anbn": "AnBn",
    "anbncn": "AnBnCn",
    "d2": "D_2",
    "d3": "D_3",
    "d4": "D_4",
    "dyck1": "Dyck-1",
    "shuffle2": "Shuffle-2",
    **{f"tomita{number}": f"Tomita {number}" for number in range(1, 8)},
    "compute_sqrt": "square root",
    "copy_distinct": "copy, distinct",
}
# What a setting is called where its value follows an equals sign.
SYMBOLS = {
    "train_length": r"$l_\mathrm{train}$",
    "length": "test length",
    "step": "training step",
    "outrep.p": "exponent $p$",
    "model.width": "width",
    "model.depth": "layers",
    "model.init_scale": "initial scale",
    "protocol.steps": "training steps",
    "protocol.batch": "batch",
    "protocol.lr": "learning rate",
    "protocol.momentum": "momentum",
    "protocol.optimizer": "optimizer",
    "protocol.beta2": r"$\beta_2$",
    "protocol.weight_decay": "weight decay",
    "protocol.clip": "gradient clipping",
    "protocol.schedule": "schedule",
    "curriculum.start": "curriculum start",
    "finetune.lr": "learning rate",
    "finetune.length": "windows",
}
# What a series is called by a setting whose value says it all.
PHRASES = {
    "arm": "{}",
    "protocol.optimizer": "{}",
    "protocol.weight_decay": "weight decay {}",
    "curriculum.start": "curriculum from length {}",
    "outrep.start": "starts at {}",
    "finetune.steps": "{} steps",
    "finetune.length": "windows of {}",
    "pattern": "{} groups",
    "positions": "{} positions",
    "lora": "{}",
    "q": "$q$ = {}",
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
MEMBERS = {name.lower(): id for id, name in NAMES.items()} | {"t5": "t5"} | {id: id for id in NAMES}
PAIR = re.compile(r"[ ,]*(?:^|(?<=[ ,]))(?=[A-Za-z_][\w.]*=)")  # where ``key=value`` begins


def split_series(series: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the words and the settings in the name of a series.

    Example:
        >>> from synthlab.analysis.names import split_series
        >>> split_series("pi, fine-tuned 50 steps, pattern=shifted lora=longqlora")
        (['pi', 'fine-tuned 50 steps'], [('pattern', 'shifted'), ('lora', 'longqlora')])
    """
    parts = [part.strip(", ") for part in PAIR.split(series)]
    pairs = [part.partition("=") for part in parts if "=" in part]
    words = [word for part in parts if part and "=" not in part for word in part.split(", ")]
    return words, [(key, value) for key, _, value in pairs]


def name_series(series: str) -> str:
    """Return what a legend calls a series.

    Example:
        >>> from synthlab.analysis.names import name_series
        >>> [name_series(each) for each in ("t5, 32 buckets", "pi, fine-tuned 50 steps", "outrep.start=1.0")]
        ['T5 (32 buckets)', 'PI, 50 steps', 'starts at 1']
        >>> name_series("my own")
        'my own'
    """
    words, pairs = split_series(series)
    pairs = [pair for pair in pairs if pair[1] != "null"] or pairs  # what a run does not have
    if series in TASKS:
        return TASKS[series]
    if not words:
        return ", ".join(name_setting(*pair) for pair in pairs) or series
    first, *details = (_name_word(word) for word in words)
    if words[0] in NAMES and details and not words[1].startswith("fine-tuned"):
        first, details = f"{first.removesuffix(' bias')} ({', '.join(details)})", []
    return ", ".join([first, *details, *(name_setting(*pair) for pair in pairs)])


def name_task(task: str) -> str:
    """Return what a picture calls a task.

    Example:
        >>> from synthlab.analysis.names import name_task
        >>> name_task("aa_star"), name_task("reverse_string")
        ('(aa)*', 'reverse string')
    """
    return TASKS.get(task, task.replace("_", " "))


def _name_word(word: str) -> str:
    """Return the display form of a word: ``randomized RoPE``, ``50 steps``, ``exponent 1``; others unchanged."""
    if all(part in NAMES for part in word.split()):
        return " ".join(NAMES[part] for part in word.split())
    return re.sub(r"^exponent_(?=\d+$)", "exponent ", re.sub(r"^fine-tuned (?=\d)", "", word))


def name_setting(key: str, value: str) -> str:
    """Return what a legend calls a setting: a member's name, a phrase, or ``layers = 2``.

    Example:
        >>> from synthlab.analysis.names import name_setting
        >>> name_setting("encoding", "rope"), name_setting("model.depth", "2"), name_setting("lora", "longqlora")
        ('RoPE', 'layers = 2', 'LongQLoRA')
    """
    if key == "arm":
        return name_series(value)
    if key in PHRASES:
        return PHRASES[key].format(_name_value(value))
    if value in NAMES:
        return NAMES[value]
    value = _name_value(value)
    return f"{SYMBOLS.get(key, key)} = {value}"


def _name_value(value: str) -> str:
    return re.sub(r"^(-?\d+)\.0$", r"\1", VALUES.get(value) or NAMES.get(value) or value)


def plain_label(name: str) -> str:
    """Return a name without mathematical typesetting, for texts and tables: ``1/sqrt(x)``."""
    return strip_formulas(NAMES.get(name) or name.replace("=", " = "))


def strip_formulas(label: str) -> str:
    r"""Return a label without mathematical typesetting.

    Example:
        >>> from synthlab.analysis.names import strip_formulas
        >>> strip_formulas(r"$1/\sqrt{x}$")
        '1/sqrt(x)'
    """
    return label.removesuffix(": $x$").replace(r"\sqrt{x}", "sqrt(x)").replace("$", "").replace("\\", "")


def find_members(series: str) -> list[str]:
    """Return the encodings and maps that a series' name mentions, as they stand in it.

    Example:
        >>> from synthlab.analysis.names import find_members
        >>> find_members("PI, CREAM"), find_members("arm=randomized rope"), find_members("encoding=rope outrep=log")
        (['pi'], ['rope'], ['rope', 'log'])
    """
    if re.search(r"\bexponent_\d", series):  # one of the numbers within a map, told apart by number
        return []
    words, pairs = split_series(series)
    values = [value for _, value in pairs]
    candidates = [*words[:1], *(value.partition(",")[0] for value in values)]
    found = [MEMBERS.get(each.lower()) or MEMBERS.get(each.lower().split(" ")[-1], "") for each in candidates if each]
    return [each for each in found if each]


def count_letters(label: str) -> int:
    """Return how many letters the longest line of a label shows; a formula's commands are none."""
    return max(len(re.sub(r"\\\w+|[${}_^]", "", line)) for line in label.splitlines())


def wrap_label(text: str, letters: int, break_long_words: bool = False) -> str:
    """Return ``text`` in lines of about so many letters, none of which ends within a formula."""
    kept = re.sub(r"\$[^$]*\$", lambda formula: formula[0].replace(" ", "\0"), text)
    filled = TextWrapper(letters, break_long_words=break_long_words, break_on_hyphens=False)
    lines = [line for part in kept.splitlines() for line in filled.wrap(part)]
    return "\n".join(lines).replace("\0", " ")
